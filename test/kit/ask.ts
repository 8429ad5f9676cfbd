/** Asks the run for what its test files share (`global-setup.ts`). */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';

export async function urlOf(what: 'postgres' | 'browser'): Promise<string> {
  const url = await text(connect(inject(`${what}Door`), '127.0.0.1'));
  if (!/^\w+:\/\//.test(url)) throw new Error(url);
  return url;
}
