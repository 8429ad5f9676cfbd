/**
 * How long names may be that somebody else chooses and that stores have in their indexes. An entry of an index in
 * Postgres has room for 2,704 bytes, and the longest owner, tool and idempotency key must fit into one.
 */
import { InvalidValue } from './errors.ts';

export const maxOwnerLength = 1_024;
export const maxIdempotencyKeyLength = 512;
/** Of a tool, in characters. */
export const maxVersionLength = 128;

export function checkOwner(owner: string): void {
  const advice =
    'Use a shorter text for each owner, such as its id; of a token it is issuer, subject and client.';
  checkLength('The owner of the task', owner, maxOwnerLength, advice);
}

export function checkIdempotencyKey(key: string): void {
  checkLength('The idempotency key', key, maxIdempotencyKeyLength, 'Use a shorter one, such as a UUID.');
}

function checkLength(what: string, text: string, most: number, advice: string): void {
  const bytes = bytesOf(text, most);
  if (bytes > most)
    throw new InvalidValue(
      'NAME_TOO_LONG',
      `${what} is ${counted(bytes)} bytes long, and may have at most ${counted(most)}. ${advice}`,
    );
}

/** An owner for records that only mention it. */
export function shortened(owner: string): string {
  return bytesOf(owner, maxOwnerLength) <= maxOwnerLength ? owner : `${owner.slice(0, 128)}…`;
}

/** As UTF-8 and with the escapes of JSON, which are never shorter than those of a store. */
function bytesOf(text: string, enough: number): number {
  const longestEscape = 6;
  if (text.length * longestEscape <= enough) return text.length;
  return new TextEncoder().encode(JSON.stringify(text)).length - '""'.length;
}

function counted(bytes: number): string {
  return bytes.toLocaleString('en-US');
}
