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
import { both, header, headers, sent } from './http-flaws.ts';

/** Node refuses it before Holdfast hears of it, or closes the connection. */
const notHttp: Outcome = {
  statuses: [400, 431, 505],
  codes: ['parseError', 'invalidRequest'],
  mayBeCut: true,
};

const lengths = ['-1', '1e3', '0x10', '1 2', '99999999999999999999', '', 'abc'];
const chunks = ['zz\r\n', '-1\r\n', 'ffffffffffffffffff\r\nx', '5\r\nabc'];
const beginnings = [
  ...['POST /mcp HTTP/9.9', 'POST /mcp HTTP/', ' POST /mcp HTTP/1.1', 'POST  HTTP/1.1'],
  ...['P\u0000ST /mcp HTTP/1.1', 'post /mcp HTTP/1.1', 'CONNECT /mcp HTTP/1.1', '\u0016\u0003\u0001'],
];
const noise = fc.uint8Array({ minLength: 1, maxLength: 200 });
const chunked = both(header('Content-Length', []), header('Transfer-Encoding', ['chunked']), notHttp);

const rewrites: Arbitrary<Flaw> = fc.oneof(
  oneOf([
    header('Host', [], notHttp),
    header('Content-Length', [], { ...notHttp, codes: ['parseError'] }),
    header('X-Long', ['x'.repeat(20_000)], notHttp),
    header('X-Many', Array(3_000).fill('x'), notHttp),
    // A second length that disagrees.
    header('content-length', ['1'], notHttp),
    // A length and chunks.
    header('Transfer-Encoding', ['chunked'], notHttp),
    header('Transfer-Encoding', ['magic'], { ...notHttp, statuses: [400, 501] }),
    // Without a colon, with a space before it, without a name.
    header('X-A', ['b\r\nnonsense'], notHttp),
    header('X-A ', ['b'], notHttp),
    header('', ['x'], notHttp),
    header('X-A', ['a\u0000b'], notHttp),
  ]),
  headers('Content-Length', lengths, notHttp),
  oneOf(chunks).map((body) => both(chunked, sent({ body: Buffer.from(body) }, notHttp), notHttp)),
  oneOf(beginnings).map((start) => sent({ start }, notHttp)),
  noise.map((bytes) =>
    sent({ start: Buffer.from(bytes).toString('latin1'), headers: [], body: Buffer.alloc(0) }, notHttp),
  ),
  fc.integer({ min: 1, max: 50 }).map<Flaw>((less) => ({
    label: `a length that is ${less} too small`,
    layer: 'http',
    outcome: { codes: ['parseError'], statuses: [400] },
    spoil: (draft) => header('Content-Length', [`${bodyOf(draft).length - less}`]).spoil(draft),
  })),
);

/** The headers that an HTTP client would add. */
const framed: Flaw = {
  label: 'raw',
  layer: 'http',
  outcome: undefined,
  spoil: (draft) =>
    draft.headers.push(['Content-Length', `${bodyOf(draft).length}`], ['Connection', 'close']),
};

export function rawShots(bases: readonly Base[]): Arbitrary<BadMessage> {
  const rewritten = fc.tuple(oneOf(bases), rewrites).map(([base, flaw]) => {
    const bad = spoil(base, [framed, flaw]);
    return { ...bad, raw: { bytes: bytesOf(bad.draft), hangsUp: false } };
  });
  // The client goes away in the middle: of the headers, of the body, or at once.
  const cut = fc.tuple(oneOf(bases), part).map(([base, share]) => {
    const hangingUp = sent({}, { statuses: [400, 408], mayBeCut: true });
    const bad = spoil(base, [framed, { ...hangingUp, label: `hangs up after ${share}` }]);
    return { ...bad, raw: { bytes: cutAt(share, bytesOf(bad.draft)), hangsUp: true } };
  });
  return fc.oneof(rewritten, cut);
}

function bytesOf(draft: Draft): Buffer {
  const { httpMethod, path, start = `${httpMethod} ${path} HTTP/1.1`, headers } = draft;
  const lines = [start, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bodyOf(draft)]);
}

export function rawRequest(draft: Draft): Buffer {
  const copy = { ...draft, headers: [...draft.headers] };
  framed.spoil(copy);
  return bytesOf(copy);
}
