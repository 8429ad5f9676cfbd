import { hasCode, InvalidValue, refusal } from '../../model/errors.ts';
import type { InputResponse } from '../../model/input.ts';
import type { Json } from '../../model/json.ts';
import { cut, messageOf } from '../../model/thrown.ts';
import { defaultMaxValueSize } from '../rules/limits.ts';

/** JSON would write their instances as `{}`, or binary data as an object. */
const exotic = [Map, Set, WeakMap, WeakSet, Promise, RegExp, Error, ArrayBuffer];

/**
 * The value after a round trip through JSON. A replay gets this value, so the first pass must get the same. Throws if
 * JSON would silently drop a part of the value; the error contains its path. Undefined stays undefined. `maxSize` is in
 * characters of JSON, and `what` is the subject of error messages.
 */
export function toJsonValue(value: unknown, what: string, maxSize = defaultMaxValueSize): Json | undefined {
  if (value === undefined) return undefined;
  const text = textOf(value, what, maxSize);
  if (text.length > maxSize) throw tooLarge(what, `${text.length}`, maxSize);
  return JSON.parse(text) as Json;
}

/** The JSON text. Proxies, getters and `toJSON` may throw anything, and deep nesting may exceed the stack. */
function textOf(value: unknown, what: string, maxSize: number): string {
  try {
    inspect(value, what, maxSize);
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (error) {
    if (hasCode(error, 'NOT_JSON', 'VALUE_TOO_LARGE')) throw error;
    const isDeep = error instanceof RangeError && /call stack/.test(error.message);
    throw notJson(what, '', isDeep ? 'it is nested too deeply' : messageOf(error, 1_000));
  }
  throw notJson(what, '', 'its toJSON() returns nothing');
}

function notJson(what: string, path: string, why: string): InvalidValue {
  return new InvalidValue(
    'NOT_JSON',
    `${what} gave ${path === '' ? 'a value' : `"${cut(path.slice(1), 200)}"`} that JSON cannot represent (${why}). Return plain data: strings, finite numbers, booleans, null, arrays and objects of these.`,
  );
}

function tooLarge(what: string, length: string, maxSize: number): InvalidValue {
  return new InvalidValue(
    'VALUE_TOO_LARGE',
    `${what} gave a value of ${length} characters; the limit is ${maxSize}. Store large data elsewhere and pass a reference to it, or raise \`maxValueSize\`.`,
  );
}

/** Answers arrived as JSON and are stored unchanged, so only their size is checked, in characters of JSON. */
export function checkAnswers(responses: Readonly<Record<string, InputResponse>>, maxSize: number): void {
  for (const [key, response] of Object.entries(responses)) {
    const { length } = JSON.stringify(response);
    if (length > maxSize)
      throw refusal('BAD_ANSWER', key, `it has ${length} characters; the limit is ${maxSize} (maxValueSize)`);
  }
}

/** Throws if JSON would drop a part of the value, or as soon as the value is known to be too large. */
function inspect(whole: unknown, what: string, maxSize: number): void {
  const ancestors = new Set<object>();
  // The minimum length of the JSON so far. A value that contains an object many times is much larger as text.
  let length = 0;
  const count = (characters: number) => {
    length += characters;
    if (length > maxSize) throw tooLarge(what, `at least ${length}`, maxSize);
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
    if (ancestors.has(value)) throw notJson(what, path, 'a circular reference');
    // Holes in an array are not visited below, but JSON writes them as `null`.
    if (Array.isArray(value)) count(value.length);
    ancestors.add(value);
    for (const [key, part] of Object.entries(value)) visit(part, `${path}.${key}`);
    ancestors.delete(value);
  };
  visit(whole, '');
}
