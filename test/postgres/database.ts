/** Databases for tests, on the Postgres of this run. */
import { randomBytes } from 'node:crypto';
import { urlOf } from '../kit/ask.ts';
import { template } from '../kit/template.ts';
import { query } from './server.ts';

/** A database in which Holdfast has been opened once, and nothing has happened yet. */
export function freshDatabase() {
  return create(`template ${template}`);
}

/** A new, empty database. */
export function emptyDatabase() {
  return create('');
}

async function create(how: string) {
  const server = await urlOf('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(server, `create database ${name} ${how}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, remove: async () => void (await query(server, `drop database ${name} (force)`)) };
}
