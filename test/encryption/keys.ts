import { createHash } from 'node:crypto';
import type { Encryption } from '../../src/sqlite.ts';

/** The same key for the same id in every process of a test. */
export function keyOf(id: string): Uint8Array {
  return createHash('sha256').update(`key ${id}`).digest();
}

/** Keys by these ids, the last of them the current one. */
export function encryption(...ids: string[]): Encryption {
  return { keys: Object.fromEntries(ids.map((id) => [id, keyOf(id)])), current: ids.at(-1)! };
}
