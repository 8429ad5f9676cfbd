/** Ids that follow from something else, and that nobody can work out without the secret of the database. */
import { createHmac } from 'node:crypto';
import { idFrom } from '../model/id.ts';

export function keyedId(secret: Uint8Array, text: string): string {
  return idFrom(createHmac('sha256', secret).update(text).digest().subarray(0, 20));
}
