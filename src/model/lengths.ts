/**
 * How long names may be that somebody else chooses and that stores have in their indexes. An entry of an index in
 * Postgres has room for 2,704 bytes, and the longest owner, tool and idempotency key must fit into one.
 */
import { NameTooLong } from './errors.ts';

export const longestOwner = 1_024;
export const longestIdempotencyKey = 512;
/** Of a tool, in characters. */
export const longestVersion = 128;

export function checkOwner(owner: string): void {
  const bytes = bytesOf(owner, longestOwner);
  if (bytes <= longestOwner) return;
  const advice =
    'Use a shorter text for each owner, such as its id; of a token it is issuer, subject and client.';
  throw new NameTooLong('The owner of the task', bytes, longestOwner, advice);
}

export function checkIdempotencyKey(key: string): void {
  const bytes = bytesOf(key, longestIdempotencyKey);
  if (bytes <= longestIdempotencyKey) return;
  throw new NameTooLong(
    'The idempotency key',
    bytes,
    longestIdempotencyKey,
    'Use a shorter one, such as a UUID.',
  );
}

/** An owner for records that only mention it. */
export function shortened(owner: string): string {
  return bytesOf(owner, longestOwner) <= longestOwner ? owner : `${owner.slice(0, 128)}…`;
}

/** As UTF-8 and with the escapes of JSON, which are never shorter than those of a store. */
function bytesOf(text: string, enough: number): number {
  const longestEscape = 6;
  if (text.length * longestEscape <= enough) return text.length;
  return new TextEncoder().encode(JSON.stringify(text)).length - '""'.length;
}
