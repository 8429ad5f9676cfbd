/** What can be wrong with the bytes of a message: broken, cut, in another encoding, too many, too deep. */
import fc, { type Arbitrary } from 'fast-check';
import { at, bodyOf, type Draft, type Flaw, type Flaws, type Outcome, oneOf } from './draft.ts';
import { not } from './junk.ts';
import { nested, textOf } from './requests.ts';

/** The largest body that the server under fire takes. */
export const maxBodySize = 512 * 1_024;

type Bytes = Buffer | string;

function bytes(label: string, outcome: Outcome, make: (body: Buffer, draft: Draft) => Bytes): Flaw {
  const spoil = (draft: Draft) => {
    draft.body = Buffer.from(make(bodyOf(draft), draft));
  };
  return { label, layer: 'bytes', outcome, spoil };
}

function instead(text: string, outcome: Outcome): Flaw {
  return bytes(`instead ${JSON.stringify(text.slice(0, 60))}`, outcome, () => text);
}

function insert(body: Buffer, place: number, more: Buffer): Buffer {
  return Buffer.concat([body.subarray(0, place), more, body.subarray(place)]);
}

const notJson: Outcome = { codes: ['parseError'], words: /not valid JSON|UTF-8/ };
const notAMessage: Outcome = {
  codes: ['invalidRequest'],
  words: /not a valid JSON-RPC message|batch|nested/,
};
/** A batch in which nothing names the revision is judged as one of an older revision. */
const batched: Outcome = {
  codes: ['invalidRequest', 'transportRefusal'],
  words: /batch|nested|version|Mcp-Session-Id/,
};

/** A part of something, but never all of it. */
export const part = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

export function cutAt(share: number, all: Buffer): Buffer {
  return all.subarray(0, Math.min(Math.floor(share * all.length), all.length - 1));
}

const garbage = [
  ...['hello', '{', '}', '[', '{"a"', "{'a':1}", '{a:1}', 'NaN', 'undefined', '{"id":1,}', '// x', '<xml/>'],
  ...['\u0000', '{"a":01}', '"\t"', '', ' '],
];
/** Alone, cut short, longer than need be, half of a pair. */
const notUtf8 = ['ff', 'fe ff', '80', 'c3', 'e2 82', 'c0 af', 'ed a0 80', 'f8 88'];
const almostMessages = ['{}', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":7}'];
const noise = fc.uint8Array({ minLength: 1, maxLength: 60 });

const broken: Flaws = [
  part.map((share) => bytes(`cut after ${Math.floor(share * 100)} %`, notJson, (body) => cutAt(share, body))),
  oneOf(garbage).map((text) => instead(text, notJson)),
  noise.map((some) => bytes('noise', { codes: ['parseError', 'invalidRequest'] }, () => Buffer.from(some))),
  oneOf([' x', '{}', ']', '\u0000']).map((more) =>
    bytes(`followed by ${JSON.stringify(more)}`, notJson, (body) => `${body}${more}`),
  ),
  fc.constant(bytes('a byte order mark', notJson, (body) => `\ufeff${body}`)),
  fc.constant(bytes('in UTF-16', notJson, (_, { message }) => Buffer.from(textOf(message), 'utf16le'))),
  not('object').map((value) => instead(textOf(value), notAMessage)),
  oneOf(almostMessages).map((text) => instead(text, notAMessage)),
];

function encoded(outcome: Outcome): Arbitrary<Flaw> {
  return oneOf(notUtf8).map((wrong) =>
    bytes(`not UTF-8: ${wrong}`, outcome, (body) => {
      // In the middle of a text, where nothing but its encoding is wrong.
      const place = body.indexOf('fuzz');
      return insert(
        body,
        place < 0 ? body.length >> 1 : place,
        Buffer.from(wrong.replaceAll(' ', ''), 'hex'),
      );
    }),
  );
}

function batches(outcome: Outcome): Arbitrary<Flaw> {
  return oneOf([1, 2, 5]).map((count) =>
    bytes(`in a batch of ${count}`, outcome, (body) => `[${Array(count).fill(body).join(',')}]`),
  );
}

const places = ['arguments', 'taskId', 'inputResponses', 'notifications', 'anything', 'requestState'];

function deep(tooDeep: Outcome): Arbitrary<Flaw>[] {
  return [
    fc
      .tuple(oneOf(places), oneOf([150, 5_000, 100_000]))
      .map(([place, levels]) => at(`params>${place}`, nested(levels), tooDeep)),
    oneOf([131, 100_000]).map((levels) => bytes(`${levels} lists`, tooDeep, () => textOf(nested(levels)))),
  ];
}

/** Where there is nothing but lines, the SDK reads them: it takes any encoding for UTF-8 and sets no limit to depth. */
export function byteFlaws(overHttp: boolean, inBatches = batched): Flaws {
  const good = ['complete', 'task', 'input_required', 'isError', 'stream', 'untyped'] as const;
  const inLines: Outcome = {
    codes: ['parseError', 'invalidRequest', 'methodNotFound', 'invalidParams'],
    good,
  };
  const tooDeep: Outcome = overHttp
    ? { codes: ['invalidRequest'], words: /nested/ }
    : { codes: ['invalidRequest', 'invalidParams'], good };
  return [...broken, batches(inBatches), encoded(overHttp ? notJson : inLines), ...deep(tooDeep)];
}

/** Sent rarely: each is half a megabyte. */
export const oversized: Arbitrary<Flaw> = oneOf([1, 1_000, maxBodySize]).map((more) =>
  bytes(`${more} bytes too long`, { statuses: [413], mayBeCut: true }, (body) => {
    const filler = 'x'.repeat(Math.max(maxBodySize + more - body.length - 7, 0));
    return insert(body, body.lastIndexOf('}'), Buffer.from(`,"x":"${filler}"`));
  }),
);
