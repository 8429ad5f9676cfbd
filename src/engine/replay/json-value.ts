import { hasCode, InvalidValue, refusal } from '../../model/errors.ts';
import type { InputResponse } from '../../model/input.ts';
import type { Json } from '../../model/json.ts';
import { cut, messageOf } from '../../model/thrown.ts';
import { defaultMaxValueSize } from '../rules/limits.ts';

const exotic = [Map, Set, WeakMap, WeakSet, Promise, RegExp, Error, ArrayBuffer];

/**
 * The value as JSON gives it back: what a replay will see, so the first pass must see the same. What JSON would lose
 * without a word is refused, with the path to it. Undefined stays undefined.
 */
export function toJsonValue(value: unknown, what: string, largest = defaultMaxValueSize): Json | undefined {
  if (value === undefined) return undefined;
  const text = textOf(value, what, largest);
  if (text.length > largest) throw tooLarge(what, `${text.length}`, largest);
  return JSON.parse(text) as Json;
}

/** Proxies, getters and `toJSON` are code, and may throw anything; values may be nested too deep for the stack. */
function textOf(value: unknown, what: string, largest: number): string {
  try {
    inspect(value, what, largest);
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (error) {
    if (hasCode(error, 'NOT_JSON', 'VALUE_TOO_LARGE')) throw error;
    const isDeep = error instanceof RangeError && /call stack/.test(error.message);
    throw notJson(what, '', isDeep ? 'it is nested too deep' : messageOf(error, 1_000));
  }
  throw notJson(what, '', 'its toJSON() returns nothing');
}

function notJson(what: string, path: string, why: string): InvalidValue {
  return new InvalidValue(
    'NOT_JSON',
    `${what} gave ${path === '' ? 'a value' : `"${cut(path.slice(1), 200)}"`} that JSON cannot carry (${why}). Return plain data: strings, finite numbers, booleans, null, arrays and objects of these.`,
  );
}

function tooLarge(what: string, length: string, largest: number): InvalidValue {
  return new InvalidValue(
    'VALUE_TOO_LARGE',
    `${what} gave a value of ${length} characters, and at most ${largest} are kept. Put large data elsewhere and pass on where it is, or raise \`maxValueSize\`.`,
  );
}

/** Answers are kept as they came. */
export function checkAnswers(responses: Readonly<Record<string, InputResponse>>, largest: number): void {
  for (const [key, response] of Object.entries(responses)) {
    const { length } = JSON.stringify(response);
    if (length > largest)
      throw refusal(
        'BAD_ANSWER',
        key,
        `it has ${length} characters, and at most ${largest} are kept (maxValueSize)`,
      );
  }
}

/** Looks for what JSON would lose, and stops as soon as the value is known to be too large. */
function inspect(whole: unknown, what: string, largest: number): void {
  const above = new Set<object>();
  // At least so many characters will it have: objects may hold the same part many times over.
  let length = 0;
  const count = (characters: number) => {
    length += characters;
    if (length > largest) throw tooLarge(what, `at least ${length}`, largest);
  };
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function')
      throw notJson(what, path, `a ${typeof value}`);
    if (typeof value === 'number' && !Number.isFinite(value)) throw notJson(what, path, String(value));
    if (value !== undefined) count(typeof value === 'string' ? value.length + 2 : 1);
    if (typeof value !== 'object' || value === null) return;
    if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return;
    if (exotic.some((kind) => value instanceof kind) || ArrayBuffer.isView(value))
      throw notJson(what, path, `a ${value.constructor?.name ?? 'special object'}`);
    if (above.has(value)) throw notJson(what, path, 'a circle');
    // Gaps in an array have no entries, and are written all the same.
    if (Array.isArray(value)) count(value.length);
    above.add(value);
    for (const [key, part] of Object.entries(value)) visit(part, `${path}.${key}`);
    above.delete(value);
  };
  visit(whole, '');
}
