/** Values that are wrong somewhere: of the wrong type, too long, too deep, or named like what every object has. */
import fc, { type Arbitrary } from 'fast-check';
import type { Loose } from './requests.ts';

/** Names that an object already answers to. */
export const prototypeName: Arbitrary<string> = fc.constantFrom(
  ...'__proto__ constructor prototype toString valueOf hasOwnProperty isPrototypeOf'.split(' '),
  ...'__defineGetter__ __lookupSetter__ toJSON then'.split(' '),
);

/** An object whose only member has such a name; as JSON makes it, it is a member like any other. */
export function owning(name: string, value: Loose): Loose {
  return JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value) ?? 'null'}}`);
}

const polluting: Arbitrary<Loose> = prototypeName.map((name) =>
  owning(name, { polluted: 'yes', extensions: { 'io.modelcontextprotocol/tasks': {} } }),
);

export const oddText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    ...['', ' ', '0', 'null', 'undefined', '[object Object]', '\u0000', 'a\u0000b', '\r\n', '\u202e'],
  ),
  fc.constantFrom(
    ...['../../x', '%00', "' OR 1=1 --", '"); DROP TABLE tasks; --', '{{7*7}}', '*', 'a/b', '1/confirm'],
  ),
  prototypeName,
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ minLength: 200, maxLength: 2_000 }),
);

/** Half of a pair, which no bytes can say. */
export const halfAPair = '\ud800';

const oddNumbers = [0, -0, 1, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324];
const names = fc.oneof(fc.string({ maxLength: 8 }), prototypeName);
const values = fc.jsonValue({ maxDepth: 2 });

const kinds = {
  null: fc.constant(null),
  boolean: fc.boolean(),
  number: fc.constantFrom(...oddNumbers),
  string: oddText,
  list: fc.oneof(fc.constant([]), fc.array(values, { maxLength: 4 })),
  object: fc.oneof(fc.constant({}), polluting, fc.dictionary(names, values, { maxKeys: 3 })),
} satisfies Record<string, Arbitrary<Loose>>;

export type JsonKind = keyof typeof kinds;

export function not(...right: readonly JsonKind[]): Arbitrary<Loose> {
  const wrong = (Object.keys(kinds) as JsonKind[]).filter((kind) => !right.includes(kind));
  return fc.oneof(...wrong.map((kind) => kinds[kind]));
}

export const anything: Arbitrary<Loose> = not();
