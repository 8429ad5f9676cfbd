/** Requests that are wrong as HTTP, byte by byte: what no HTTP client would send. */
import fc, { type Arbitrary } from 'fast-check';
import { cutAt, part } from './byte-flaws.ts';
import {
  type BadMessage,
  type Base,
  bodyOf,
  type Draft,
  type Flaw,
  type Outcome,
  oneOf,
  spoil,
} from './draft.ts';
import { invalidRequest, parseError } from './oracle.ts';

type Rewrite = (lines: readonly string[], body: Buffer) => Buffer;

interface Wire extends Flaw {
  readonly rewrite: Rewrite;
  readonly hangsUp?: boolean;
}

/** Node refuses it before Holdfast hears of it, or closes the connection. */
const notHttp: Outcome = { statuses: [400, 431, 505], codes: [parseError, invalidRequest], mayBeCut: true };
const cutOff: Outcome = { statuses: [400, 408], mayBeCut: true };

function rewritten(label: string, rewrite: Rewrite, outcome = notHttp): Wire {
  return { label, layer: 'bytes', outcome, spoil: () => {}, rewrite };
}

function whole(lines: readonly string[], body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

function withLines(label: string, more: readonly string[], outcome?: Outcome): Wire {
  return rewritten(label, (lines, body) => whole([...lines, ...more], body), outcome);
}

/** Without the header of that name, and with another instead. */
function without(name: string, lines: readonly string[], ...instead: readonly string[]): string[] {
  return [...lines.filter((line) => !line.toLowerCase().startsWith(`${name}:`)), ...instead];
}

const beginnings = [
  ...['POST /mcp HTTP/9.9', 'POST /mcp HTTP/', ' POST /mcp HTTP/1.1', 'POST  HTTP/1.1'],
  ...['P\u0000ST /mcp HTTP/1.1', 'post /mcp HTTP/1.1', 'CONNECT /mcp HTTP/1.1', '\u0016\u0003\u0001'],
];

const rewrites: readonly Arbitrary<Wire>[] = [
  oneOf([
    rewritten('no Host', (lines, body) => whole(without('host', lines), body)),
    rewritten('no length', (lines, body) => whole(without('content-length', lines), body), {
      ...notHttp,
      codes: [parseError],
    }),
    withLines('an endless header', [`X-Long: ${'x'.repeat(20_000)}`]),
    withLines(
      'thousands of headers',
      Array.from({ length: 3_000 }, (_, n) => `X-${n}: ${n}`),
    ),
    withLines('a second length that disagrees', ['Content-Length: 1']),
    withLines('a length and chunks', ['Transfer-Encoding: chunked']),
    withLines('an unknown coding', ['Transfer-Encoding: magic'], { ...notHttp, statuses: [400, 501] }),
    withLines('a header without a colon', ['nonsense']),
    withLines('a space before the colon', ['X-A : b']),
    withLines('a header of nothing', [': x']),
    withLines('a null in a header', ['X-A: a\u0000b']),
  ]),
  oneOf(['-1', '1e3', '0x10', '1 2', '99999999999999999999', '', 'abc']).map((length) =>
    rewritten(`length ${length}`, (lines, body) =>
      whole(without('content-length', lines, `Content-Length: ${length}`), body),
    ),
  ),
  oneOf(['zz\r\n', '-1\r\n', 'ffffffffffffffffff\r\nx', '5\r\nabc']).map((chunks) =>
    rewritten(`chunks ${JSON.stringify(chunks)}`, (lines) =>
      whole(without('content-length', lines, 'Transfer-Encoding: chunked'), Buffer.from(chunks)),
    ),
  ),
  oneOf(beginnings).map((line) =>
    rewritten(`begins ${JSON.stringify(line)}`, (lines, body) => whole([line, ...lines.slice(1)], body)),
  ),
  fc
    .uint8Array({ minLength: 1, maxLength: 200 })
    .map((noise) => rewritten('noise', () => Buffer.concat([Buffer.from(noise), Buffer.from('\r\n\r\n')]))),
  fc
    .integer({ min: 1, max: 50 })
    .map((less) =>
      rewritten(
        `a length that is ${less} too small`,
        (lines, body) =>
          whole(without('content-length', lines, `Content-Length: ${body.length - less}`), body),
        { codes: [parseError], statuses: [400] },
      ),
    ),
];

/** The client goes away in the middle: of the headers, of the body, or at once. */
const cuts: Arbitrary<Wire> = part.map((share) => ({
  ...rewritten(`hangs up after ${share}`, (lines, body) => cutAt(share, whole(lines, body)), cutOff),
  hangsUp: true,
}));

export function rawShots(bases: readonly Base[]): Arbitrary<BadMessage> {
  return fc.tuple(oneOf(bases), fc.oneof(fc.oneof(...rewrites), cuts)).map(([base, flaw]) => {
    const bad = spoil(base, [flaw]);
    const bytes = flaw.rewrite(linesOf(bad.draft), bodyOf(bad.draft));
    return { ...bad, raw: { bytes, hangsUp: flaw.hangsUp ?? false } };
  });
}

function linesOf(draft: Draft): string[] {
  const { httpMethod, path, headers } = draft;
  const all = [...headers, ['Content-Length', bodyOf(draft).length], ['Connection', 'close']];
  return [`${httpMethod} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`)];
}

/** A right request as bytes. */
export function rawRequest(draft: Draft): Buffer {
  return whole(linesOf(draft), bodyOf(draft));
}
