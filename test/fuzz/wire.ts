/** Requests that are wrong as HTTP, byte by byte: what no HTTP client would send. */
import fc, { type Arbitrary } from 'fast-check';
import { type BadMessage, type Base, bodyOf, type Draft, type Flaw, type Outcome, spoil } from './draft.ts';
import { invalidRequest, parseError } from './oracle.ts';
import { textOf } from './requests.ts';

/** Bytes for a socket of their own, and what the server may say to them. */
export interface RawShot extends BadMessage {
  readonly bytes: Buffer;
  /** The client hangs up once it has sent them, without waiting for an answer. */
  readonly hangsUp: boolean;
}

type Rewrite = (lines: string[], body: Buffer) => Buffer;

/** Node refuses it before Holdfast hears of it, or closes the connection. */
const notHttp: Outcome = { statuses: [400, 431, 505], codes: [parseError, invalidRequest], mayBeCut: true };
const cutOff: Outcome = { statuses: [400, 408], mayBeCut: true };

function rewritten(label: string, outcome: Outcome, rewrite: Rewrite): Flaw & { rewrite: Rewrite } {
  return { label, layer: 'bytes', outcome, spoil: () => {}, rewrite };
}

function whole(lines: readonly string[], body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

function withLine(label: string, line: string, outcome: Outcome = notHttp) {
  return rewritten(label, outcome, (lines, body) => whole([...lines, line], body));
}

function withoutLine(label: string, name: string, more: readonly string[], outcome: Outcome = notHttp) {
  const isOther = (line: string) => !line.toLowerCase().startsWith(`${name}:`);
  return rewritten(label, outcome, (lines, body) => whole([...lines.filter(isOther), ...more], body));
}

const rewrites: Arbitrary<Flaw & { rewrite: Rewrite }> = fc.oneof(
  fc.constantFrom(
    withoutLine('no Host', 'host', []),
    withoutLine('no length', 'content-length', [], { ...notHttp, codes: [parseError] }),
    withoutLine('an endless header', 'x', [`X-Long: ${'x'.repeat(20_000)}`]),
    withoutLine(
      'a thousand headers',
      'x',
      Array.from({ length: 3_000 }, (_, n) => `X-${n}: ${n}`),
    ),
    withLine('a second length that disagrees', 'Content-Length: 1'),
    withLine('a length and chunks', 'Transfer-Encoding: chunked'),
    withLine('an unknown coding', 'Transfer-Encoding: magic', { ...notHttp, statuses: [400, 501] }),
    withLine('a header without a colon', 'nonsense'),
    withLine('a space before the colon', 'X-A : b'),
    withLine('a header of nothing', ': x'),
    withLine('a null in a header', 'X-A: a\u0000b'),
  ),
  fc
    .constantFrom('-1', '1e3', '0x10', '1 2', '99999999999999999999', '', 'abc')
    .map((length) => withoutLine(`length ${length}`, 'content-length', [`Content-Length: ${length}`])),
  fc
    .constantFrom('zz\r\n', '-1\r\n', 'ffffffffffffffffff\r\nx', '5\r\nabc')
    .map((chunks) =>
      rewritten(`chunks ${JSON.stringify(chunks)}`, notHttp, (lines) =>
        whole(
          [...lines.filter((line) => !/^content-length:/i.test(line)), 'Transfer-Encoding: chunked'],
          Buffer.from(chunks),
        ),
      ),
    ),
  fc
    .constantFrom(
      'POST /mcp HTTP/9.9',
      'POST /mcp HTTP/',
      ' POST /mcp HTTP/1.1',
      'POST  HTTP/1.1',
      'P\u0000ST /mcp HTTP/1.1',
      'post /mcp HTTP/1.1',
      'CONNECT /mcp HTTP/1.1',
      '\u0016\u0003\u0001',
    )
    .map((line) =>
      rewritten(`begins ${JSON.stringify(line)}`, notHttp, (lines, body) =>
        whole([line, ...lines.slice(1)], body),
      ),
    ),
  fc
    .uint8Array({ minLength: 1, maxLength: 200 })
    .map((noise) =>
      rewritten('noise instead of HTTP', notHttp, () =>
        Buffer.concat([Buffer.from(noise), Buffer.from('\r\n\r\n')]),
      ),
    ),
  fc
    .integer({ min: 1, max: 50 })
    .map((less) =>
      rewritten(
        `a length that is ${less} too small`,
        { codes: [parseError], statuses: [400] },
        (lines, body) =>
          whole(
            [
              ...lines.filter((line) => !/^content-length:/i.test(line)),
              `Content-Length: ${body.length - less}`,
            ],
            body,
          ),
      ),
    ),
);

/** The client goes away in the middle: of the headers, of the body, or at once. */
const cuts: Arbitrary<Flaw & { rewrite: Rewrite }> = fc
  .double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  .map((share) =>
    rewritten(`hangs up after ${Math.floor(share * 100)} %`, cutOff, (lines, body) => {
      const all = whole(lines, body);
      return all.subarray(0, Math.min(Math.floor(share * all.length), all.length - 1));
    }),
  );

export function rawShots(bases: readonly Base[]): Arbitrary<RawShot> {
  const flaw = fc.oneof(
    rewrites.map((one) => ({ one, hangsUp: false })),
    cuts.map((one) => ({ one, hangsUp: true })),
  );
  return fc.tuple(fc.constantFrom(...bases), flaw).map(([base, { one, hangsUp }]) => {
    const bad = spoil(base, [one], []);
    return { ...bad, bytes: one.rewrite(linesOf(bad.draft), bodyOf(bad.draft)), hangsUp };
  });
}

/** A right request as text. */
export function linesOf(draft: Draft): string[] {
  const { httpMethod, path, headers, message } = draft;
  const length = Buffer.byteLength(draft.body ?? textOf(message));
  const all = [...headers, ['Content-Length', String(length)], ['Connection', 'close']];
  return [`${httpMethod} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`)];
}

export function rawRequest(draft: Draft): Buffer {
  return whole(linesOf(draft), bodyOf(draft));
}
