/** The generator: a right message with one flaw or a few. The same seed makes the same messages. */
import fc, { type Arbitrary } from 'fast-check';
import { type BadMessage, type Flaw, type Kind, type Method, spoil } from './draft.ts';

/** Never a frame and an envelope: without both, a request is one of another revision and judged by its rules. */
const together: readonly (readonly Kind[])[] = [
  ['params', 'frame', 'mirror', 'harmless'],
  ['params', 'envelope', 'mirror', 'harmless'],
  ['params', 'envelope', 'bytes'],
  ['params', 'frame', 'http'],
  ['params', 'mirror', 'http', 'bytes', 'harmless'],
];

/** Every message as it should be, and with every flaw, once and alone. */
export function sweep(methods: readonly Method[]): Arbitrary<BadMessage>[] {
  return methods.flatMap(({ base, flaws }) => [
    fc.constant(0).map(() => spoil(base, [])),
    ...Object.values(flaws).flatMap((kind) => kind.map((flaw) => flaw.map((one) => spoil(base, [one])))),
  ]);
}

/** Mostly one flaw, and mostly one in the params. */
export function badMessages(methods: readonly Method[]): Arbitrary<BadMessage> {
  const all = methods.map(({ base, flaws }) => ({
    base,
    flaws: new Map(Object.entries(flaws).map(([kind, those]) => [kind as Kind, fc.oneof(...those)])),
  }));
  return fc.constantFrom(...all).chain(({ base, flaws }) => some(flaws).map((chosen) => spoil(base, chosen)));
}

function some(flaws: ReadonlyMap<Kind, Arbitrary<Flaw>>): Arbitrary<Flaw[]> {
  const kinds = [...flaws].map(([kind, arbitrary]) => ({ weight: kind === 'params' ? 6 : 2, arbitrary }));
  const several = fc
    .constantFrom(...together)
    .map((group) => group.filter((kind) => flaws.has(kind)))
    .chain((group) => fc.subarray(group, { minLength: 1, maxLength: Math.min(group.length, 3) }))
    .chain((chosen) => fc.tuple(...chosen.map((kind) => flaws.get(kind)!)));
  return fc.oneof(
    { weight: 3, arbitrary: fc.oneof(...kinds).map((one) => [one]) },
    { weight: 1, arbitrary: several },
  );
}
