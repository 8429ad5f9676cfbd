/** Databases for tests, on the Postgres of this run. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { inject } from 'vitest';
import { query } from './server.ts';

export async function serverUrl(): Promise<string> {
  const socket = connect(inject('postgresDoor'), '127.0.0.1');
  let text = '';
  for await (const chunk of socket) text += chunk;
  if (!text.startsWith('postgres:')) throw new Error(text);
  return text;
}

/** A new, empty database. */
export async function freshDatabase(): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const server = await serverUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, remove: async () => void (await query(server, `drop database ${name} (force)`)) };
}
