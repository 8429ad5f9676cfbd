import { BadAnswer, HoldfastError } from '../model/errors.ts';
import type { InputResponse } from '../model/input.ts';
import type { Json } from '../model/json.ts';

export class NotJson extends HoldfastError {}
export class ValueTooLarge extends HoldfastError {}

/** In characters of JSON. */
export const defaultLargestValue = 16 * 2 ** 20;

const exotic = [Map, Set, WeakMap, WeakSet, Promise, RegExp, Error, ArrayBuffer];

/**
 * The value as JSON gives it back: what a replay will see, so the first pass must see the same. What JSON would lose
 * without a word is refused, with the path to it. Undefined stays undefined.
 */
export function carried(value: unknown, what: string, largest = defaultLargestValue): Json | undefined {
  if (value === undefined) return undefined;
  inspect(value, '', what, new Set());
  const text = JSON.stringify(value);
  if (text.length > largest)
    throw new ValueTooLarge(
      `${what} gave a value of ${text.length} characters, and at most ${largest} are kept. Put large data elsewhere and pass on where it is, or raise \`largestValue\`.`,
    );
  return JSON.parse(text) as Json;
}

/** Answers are kept as they came. */
export function checkAnswers(responses: Readonly<Record<string, InputResponse>>, largest: number): void {
  for (const [key, response] of Object.entries(responses)) {
    const { length } = JSON.stringify(response);
    if (length > largest)
      throw new BadAnswer(key, `it has ${length} characters, and at most ${largest} are kept (largestValue)`);
  }
}

function inspect(value: unknown, path: string, what: string, above: Set<object>): void {
  const refuse = (kind: string) => {
    throw new NotJson(
      `${what} gave ${path === '' ? 'a value' : `"${path.slice(1)}"`} that JSON cannot carry (${kind}). Return plain data: strings, finite numbers, booleans, null, arrays and objects of these.`,
    );
  };
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function')
    refuse(`a ${typeof value}`);
  if (typeof value === 'number' && !Number.isFinite(value)) refuse(String(value));
  if (typeof value !== 'object' || value === null) return;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return;
  if (exotic.some((kind) => value instanceof kind) || ArrayBuffer.isView(value))
    refuse(`a ${value.constructor?.name ?? 'special object'}`);
  if (above.has(value)) refuse('a circle');
  above.add(value);
  for (const [key, part] of Object.entries(value)) inspect(part, `${path}.${key}`, what, above);
  above.delete(value);
}
