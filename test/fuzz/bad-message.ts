/** The generator: a right message with one flaw or a few. The same seed makes the same messages. */
import fc, { type Arbitrary } from 'fast-check';
import { byteFlaws, oversized } from './byte-flaws.ts';
import { type BadMessage, type Flaw, spoil } from './draft.ts';
import { envelopeFlaws, frameFlaws, harmless, revisionFlaws } from './flaws.ts';
import { httpFlaws, mirrorFlaws, revisionHeaderFlaws } from './http-flaws.ts';
import { type Facts, type Method, methods } from './methods.ts';

/** A message has at most one flaw of each kind; two would hide each other. */
type Kind = 'params' | 'frame' | 'envelope' | 'mirror' | 'http' | 'bytes' | 'harmless';

/** Never a frame and an envelope: without both, a request is one of another revision and judged by its rules. */
const together: readonly (readonly Kind[])[] = [
  ['params', 'frame', 'mirror', 'harmless'],
  ['params', 'envelope', 'mirror', 'harmless'],
  ['params', 'envelope', 'bytes'],
  ['params', 'frame', 'http'],
  ['params', 'mirror', 'http', 'bytes', 'harmless'],
];

/** `overHttp` is false where there is nothing but messages. */
export interface Way {
  readonly overHttp: boolean;
}

export function badMessages(facts: Facts, { overHttp }: Way): Arbitrary<BadMessage> {
  const all = methods(facts).map((method) => ({ method, flaws: flawsOf(method, overHttp) }));
  const visible = Object.values(facts.waiting);
  return fc.constantFrom(...all).chain(({ method, flaws }) => {
    const kinds = new Map([...flaws].map(([kind, those]) => [kind, fc.oneof(...those)]));
    return some(kinds).map((chosen) => spoil(method.base, chosen, visible));
  });
}

/** Every flaw of every method, once and alone. */
export function sweep(facts: Facts, { overHttp }: Way): Arbitrary<BadMessage>[] {
  const visible = Object.values(facts.waiting);
  return methods(facts).flatMap((method) =>
    [...flawsOf(method, overHttp).values()]
      .flat()
      .map((flaw) => flaw.map((one) => spoil(method.base, [one], visible))),
  );
}

/** Messages of half a megabyte and more, which are too slow to be sent often. */
export function oversizedMessages(facts: Facts): Arbitrary<BadMessage> {
  return fc
    .tuple(fc.constantFrom(...methods(facts)), oversized)
    .map(([{ base }, flaw]) => spoil(base, [flaw], []));
}

/** Mostly one flaw, and mostly one in the params. */
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

function flawsOf(method: Method, overHttp: boolean): Map<Kind, readonly Arbitrary<Flaw>[]> {
  const revisions = overHttp ? revisionHeaderFlaws : revisionFlaws;
  const flaws = new Map<Kind, readonly Arbitrary<Flaw>[]>([
    ['params', method.flaws],
    ['frame', frameFlaws],
    ['envelope', [...envelopeFlaws(method, overHttp), ...revisions]],
    ['bytes', byteFlaws(overHttp)],
    ['harmless', harmless],
  ]);
  return overHttp ? flaws.set('mirror', mirrorFlaws(method)).set('http', httpFlaws) : flaws;
}
