/**
 * Anything can be thrown: objects without a prototype, proxies that throw when touched, errors whose message is a
 * BigInt. The functions here describe such a value in words. None of them ever throws.
 */

/** Characters of an error's message. */
export const maxMessageLength = 65_536;
const longestName = 256;

/** What was thrown, as a sentence for people. */
export function messageOf(thrown: unknown, longest = maxMessageLength): string {
  return cut(attempted(() => wordsOf(thrown)) ?? unreadable, longest);
}

/** The name of an error's class. */
export function nameOf(thrown: unknown): string {
  const name = attempted(() => (thrown as { name?: unknown } | null | undefined)?.name);
  return typeof name === 'string' && name !== '' && typeof thrown === 'object'
    ? cut(name, longestName)
    : 'Error';
}

/** `instanceof`, also for proxies: theirs may throw. */
export function isInstance<T>(value: unknown, kind: abstract new (...args: never[]) => T): value is T {
  return attempted(() => value instanceof kind) === true;
}

/** Any value in a few words, for a message that refuses it. Of an object only its keys: values may be secret. */
export function shown(value: unknown): string {
  return cut(attempted(() => described(value)) ?? 'an object that cannot be read', 200);
}

/** The beginning of a text, with a note of how long it was. */
export function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const note = ` … (cut, ${text.length} characters)`;
  const kept = text.slice(0, Math.max(0, longest - note.length));
  return `${kept.replace(/[\ud800-\udbff]$/, '')}${note}`.slice(0, longest);
}

const unreadable = 'Something was thrown that cannot be read.';

/** Looks only one level deep into errors of errors: they may contain each other. */
function wordsOf(thrown: unknown, isNested = false): string {
  if (typeof thrown === 'string' && thrown !== '') return thrown;
  if (typeof thrown !== 'object' || thrown === null) return notAnError(thrown);
  const { message, errors } = thrown as { readonly message?: unknown; readonly errors?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  if (message !== undefined && message !== '') return `${nameOf(thrown)}: ${shown(message)}`;
  // What Node throws when a host has several addresses says nothing itself.
  if (Array.isArray(errors) && errors.length > 0 && !isNested)
    return errors.slice(0, 10).map(nestedWords).join('; ');
  if (message === '') return `An error without a message was thrown (${nameOf(thrown)}).`;
  return ownWords(thrown) ?? notAnError(thrown);
}

function nestedWords(error: unknown): string {
  return cut(attempted(() => wordsOf(error, true)) ?? unreadable, 1_000);
}

function notAnError(thrown: unknown): string {
  return `Something was thrown that is not an error: ${shown(thrown)}.`;
}

/** What an object says of itself, if its class gave it something to say. */
function ownWords(thrown: object): string | undefined {
  if (Array.isArray(thrown)) return undefined;
  const text = attempted(() => String(thrown));
  return text === undefined || text === '' || text.startsWith('[object ') ? undefined : text;
}

function described(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(cut(value, 100));
    case 'bigint':
      return value > -(2n ** 64n) && value < 2n ** 64n ? `${value}n` : 'a large bigint';
    case 'function':
      return 'a function';
    case 'object':
      return value === null ? 'null' : describedObject(value);
    default:
      return String(value);
  }
}

function describedObject(value: object): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (tag === 'Date') return Number.isNaN(Number(value)) ? 'an invalid date' : `the date ${String(value)}`;
  if (tag !== 'Object' && tag !== 'Error') return `an object (${tag})`;
  const keys = Object.keys(value);
  if (keys.length === 0) return 'an empty object';
  const more = keys.length > 5 ? `, … ${keys.length} in all` : '';
  return `an object with ${keys
    .slice(0, 5)
    .map((key) => JSON.stringify(cut(key, 30)))
    .join(', ')}${more}`;
}

/** Undefined if it throws. */
export function attempted<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
