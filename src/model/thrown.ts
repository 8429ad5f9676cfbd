/**
 * Describes thrown values. Code can throw anything: objects without a prototype, proxies that throw on every access,
 * errors whose message is a BigInt. No function here throws.
 */

/** Maximum length of an error's message, in characters. */
export const maxMessageLength = 65_536;
const maxNameLength = 256;

/** The message of a thrown value, for people. */
export function messageOf(thrown: unknown, maxLength = maxMessageLength): string {
  return cut(attempted(() => textOf(thrown)) ?? unreadable, maxLength);
}

/** The name of an error's class. */
export function nameOf(thrown: unknown): string {
  const name = attempted(() => (thrown as { name?: unknown } | null | undefined)?.name);
  return typeof name === 'string' && name !== '' && typeof thrown === 'object'
    ? cut(name, maxNameLength)
    : 'Error';
}

/** Like `instanceof`, but false if the check itself throws, as it can for a proxy. */
export function isInstance<T>(value: unknown, kind: abstract new (...args: never[]) => T): value is T {
  return attempted(() => value instanceof kind) === true;
}

/**
 * Describes a value in an error message that refuses it. Shows only the keys of an object: its values may be secret.
 */
export function shown(value: unknown): string {
  return cut(attempted(() => described(value)) ?? 'an object that cannot be read', 200);
}

/** Cuts a text to this length. The note of its original length is part of the result and of its length. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const note = ` … (cut, ${text.length} characters)`;
  const kept = text.slice(0, Math.max(0, maxLength - note.length));
  return `${kept.replace(/[\ud800-\udbff]$/, '')}${note}`.slice(0, maxLength);
}

const unreadable = 'Something was thrown that cannot be read.';

/** Describes the `errors` of an aggregate error only one level deep, because they may contain each other. */
function textOf(thrown: unknown, isNested = false): string {
  if (typeof thrown === 'string' && thrown !== '') return thrown;
  if (typeof thrown !== 'object' || thrown === null) return notAnError(thrown);
  const { message, errors } = thrown as { readonly message?: unknown; readonly errors?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  if (message !== undefined && message !== '') return `${nameOf(thrown)}: ${shown(message)}`;
  // Node's error for a host with several addresses has no message of its own.
  if (Array.isArray(errors) && errors.length > 0 && !isNested)
    return errors.slice(0, 10).map(nestedText).join('; ');
  if (message === '') return `An error without a message was thrown (${nameOf(thrown)}).`;
  return ownText(thrown) ?? notAnError(thrown);
}

function nestedText(error: unknown): string {
  return cut(attempted(() => textOf(error, true)) ?? unreadable, 1_000);
}

function notAnError(thrown: unknown): string {
  return `Something was thrown that is not an error: ${shown(thrown)}.`;
}

/** The object's `toString()`, if its class has one of its own. */
function ownText(thrown: object): string | undefined {
  if (Array.isArray(thrown)) return undefined;
  const text = attempted(() => String(thrown));
  return text === undefined || text === '' || text.startsWith('[object ') ? undefined : text;
}

function described(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(cut(value, 100));
    // Converting a very large bigint takes long.
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

/** The result of `act`, or undefined if it throws. */
export function attempted<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
