/** What can be wrong with the bytes of a message: broken, cut, in another encoding, too many, too deep. */
import fc, { type Arbitrary } from 'fast-check';
import { at, bodyOf, type Draft, type Flaw, type Outcome } from './draft.ts';
import { not } from './junk.ts';
import { invalidParams, invalidRequest, methodNotFound, parseError, transportRefusal } from './oracle.ts';
import { nested, textOf } from './requests.ts';

/** The largest body that the server under fire takes. */
export const largestBody = 512 * 1_024;

function bytes(label: string, outcome: Outcome, make: (body: Buffer, draft: Draft) => Buffer): Flaw {
  const spoil = (draft: Draft) => {
    draft.body = make(bodyOf(draft), draft);
  };
  return { label, layer: 'bytes', outcome, spoil };
}

function insert(body: Buffer, place: number, more: Buffer): Buffer {
  return Buffer.concat([body.subarray(0, place), more, body.subarray(place)]);
}

const notJson: Outcome = { codes: [parseError], words: /not valid JSON|UTF-8/ };
const notAMessage: Outcome = { codes: [invalidRequest], words: /not a valid JSON-RPC message|batch|nested/ };
/** A batch in which nothing names the revision is judged as one of an older revision. */
const batched: Outcome = {
  codes: [invalidRequest, transportRefusal],
  words: /batch|nested|version|Mcp-Session-Id/,
};

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const garbage = fc.constantFrom(
  ...['hello', '{', '}', '[', '{"a"', "{'a':1}", '{a:1}', 'NaN', 'undefined', '{"id":1,}', '// x', '<xml/>'],
  ...['\u0000', '{"a":01}', '"\t"', '', ' '],
);
/** Alone, cut short, longer than need be, half of a pair. */
const notUtf8 = fc.constantFrom(
  ...[[0xff], [0xfe, 0xff], [0x80], [0xc3], [0xe2, 0x82], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf8, 0x88]],
);

const broken: readonly Arbitrary<Flaw>[] = [
  share.map((part) =>
    bytes(`cut short after ${Math.floor(part * 100)} %`, notJson, (body) =>
      body.subarray(0, Math.min(Math.floor(part * body.length), body.length - 1)),
    ),
  ),
  garbage.map((text) => bytes(`the body ${JSON.stringify(text)}`, notJson, () => Buffer.from(text))),
  fc
    .uint8Array({ minLength: 1, maxLength: 60 })
    .map((noise) => bytes('noise', { codes: [parseError, invalidRequest] }, () => Buffer.from(noise))),
  fc
    .constantFrom(' x', '{}', ']', '\u0000')
    .map((more) =>
      bytes(`followed by ${JSON.stringify(more)}`, notJson, (body) =>
        Buffer.concat([body, Buffer.from(more)]),
      ),
    ),
  fc.constant(bytes('a byte order mark', notJson, (body) => insert(body, 0, Buffer.from('\ufeff')))),
  fc.constant(bytes('in UTF-16', notJson, (_, { message }) => Buffer.from(textOf(message), 'utf16le'))),
];

function encoded(outcome: Outcome): Arbitrary<Flaw> {
  return notUtf8.map((wrong) =>
    bytes(`not UTF-8: ${wrong.map((byte) => byte.toString(16)).join(' ')}`, outcome, (body) => {
      // In the middle of a text, where nothing but its encoding is wrong.
      const place = body.indexOf('fuzz');
      return insert(body, place < 0 ? body.length >> 1 : place, Buffer.from(wrong));
    }),
  );
}

const misshapen: readonly Arbitrary<Flaw>[] = [
  not('object').map((value) =>
    bytes(`instead ${JSON.stringify(value).slice(0, 60)}`, notAMessage, () => Buffer.from(textOf(value))),
  ),
  fc
    .constantFrom('{}', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":7}')
    .map((text) => bytes(`instead ${text}`, notAMessage, () => Buffer.from(text))),
];

function batches(outcome: Outcome): Arbitrary<Flaw> {
  return fc
    .constantFrom(1, 2, 5)
    .map((count) =>
      bytes(`in a batch of ${count}`, outcome, (body) =>
        Buffer.from(`[${Array(count).fill(body.toString()).join(',')}]`),
      ),
    );
}

const places = fc.constantFrom(
  ...['arguments', 'taskId', 'inputResponses', 'notifications', 'anything', 'requestState'],
);

function deep(tooDeep: Outcome): Arbitrary<Flaw>[] {
  return [
    fc.tuple(places, fc.constantFrom(150, 5_000, 100_000)).map(([place, levels]) => ({
      ...at(['params', place], nested(levels), tooDeep),
      label: `${place} nested ${levels} deep`,
    })),
    fc
      .constantFrom(131, 100_000)
      .map((levels) => bytes(`${levels} lists`, tooDeep, () => Buffer.from(textOf(nested(levels))))),
  ];
}

/** Where there is nothing but lines, the SDK reads them: it takes any encoding for UTF-8 and sets no limit to depth. */
export function byteFlaws(overHttp: boolean, inBatches = batched): readonly Arbitrary<Flaw>[] {
  const served = ['complete', 'task', 'input_required', 'isError', 'stream', 'untyped'] as const;
  const tooDeep: Outcome = overHttp
    ? { codes: [invalidRequest], words: /nested/ }
    : { codes: [invalidRequest, invalidParams], good: served };
  return [
    ...broken,
    ...misshapen,
    batches(inBatches),
    encoded(
      overHttp
        ? notJson
        : { codes: [parseError, invalidRequest, methodNotFound, invalidParams], good: served },
    ),
    ...deep(tooDeep),
  ];
}

/** Sent rarely: each is half a megabyte. */
export const oversized: Arbitrary<Flaw> = fc.constantFrom(1, 1_000, largestBody).map((more) =>
  bytes(`${more} bytes too long`, { statuses: [413], mayBeCut: true }, (body) => {
    const filler = 'x'.repeat(Math.max(largestBody + more - body.length - 7, 0));
    return insert(body, body.lastIndexOf('}'), Buffer.from(`,"x":"${filler}"`));
  }),
);
