/** Asks the run for what its test files share (`global-setup.ts`). */
import { connect } from 'node:net';
import { inject } from 'vitest';

export async function urlOf(what: 'postgres' | 'browser'): Promise<string> {
  const socket = connect(inject(`${what}Door`), '127.0.0.1');
  let text = '';
  for await (const chunk of socket) text += chunk;
  if (!/^\w+:\/\//.test(text)) throw new Error(text);
  return text;
}
