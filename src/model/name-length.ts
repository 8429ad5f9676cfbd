/**
 * Limits for names that others choose and that databases index. An index entry of Postgres has at most 2,704 bytes, and
 * an owner, a tool and an idempotency key of maximum length must fit into one entry. The limits are in bytes, as
 * counted by `bytesOf`, unless noted otherwise.
 */
import { InvalidValue } from './errors.ts';

export const maxOwnerLength = 1_024;
export const maxIdempotencyKeyLength = 512;
/** Maximum length of a tool version, in characters. */
export const maxVersionLength = 128;

export function checkOwner(owner: string): void {
  const advice =
    'Use a shorter name for the owner, such as an id. With bearer tokens, the owner is made of issuer, subject and client.';
  checkLength('The owner of the task', owner, maxOwnerLength, advice);
}

export function checkIdempotencyKey(key: string): void {
  checkLength('The idempotency key', key, maxIdempotencyKeyLength, 'Use a shorter one, such as a UUID.');
}

function checkLength(what: string, text: string, max: number, advice: string): void {
  const bytes = bytesOf(text, max);
  if (bytes > max)
    throw new InvalidValue(
      'NAME_TOO_LONG',
      `${what} is ${counted(bytes)} bytes long. The maximum is ${counted(max)} bytes. ${advice}`,
    );
}

/** Cuts an owner that is too long, for records that only mention it. */
export function shortened(owner: string): string {
  return bytesOf(owner, maxOwnerLength) <= maxOwnerLength ? owner : `${owner.slice(0, 128)}…`;
}

/**
 * The number of bytes in UTF-8 with the escapes of JSON. The escapes of a store are never longer. If the text certainly
 * fits into `max`, returns its length in characters instead, which is faster.
 */
function bytesOf(text: string, max: number): number {
  // As in `\u0000`.
  const maxEscapeLength = 6;
  if (text.length * maxEscapeLength <= max) return text.length;
  return new TextEncoder().encode(JSON.stringify(text)).length - '""'.length;
}

function counted(bytes: number): string {
  return bytes.toLocaleString('en-US');
}
