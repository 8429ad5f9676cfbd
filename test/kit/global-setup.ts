/** One Postgres and one browser for all test files of a run, each started when the first of them asks for it. */
import { createServer } from 'node:net';
import type { TestProject } from 'vitest/node';
import { openPostgres } from '../../src/postgres.ts';
import { startPostgres } from '../postgres/server.ts';
import { launchBrowser } from './browser-server.ts';
import { listen } from './port.ts';
import { template } from './template.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await door(async () => {
    const server = await startPostgres({ fsync: false });
    const database = await openPostgres(await server.createDatabase(template));
    await database.close();
    return server;
  });
  const browser = await door(launchBrowser);
  project.provide('postgresDoor', postgres.port);
  project.provide('browserDoor', browser.port);
  return async () => {
    const started = await Promise.all([postgres.close(), browser.close()]);
    await Promise.all(started.map((one) => one?.stop()));
  };
}

/** Starts something at the first connection, and sends its URL to all. `close` returns what was started, if anything. */
async function door<T extends { readonly url: string }>(start: () => Promise<T>) {
  let started: Promise<T> | undefined;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    started ??= start();
    started.then(
      ({ url }) => socket.end(url),
      (error) => socket.end(`failed: ${error.message}`),
    );
  });
  const close = async () => {
    server.close();
    return started?.catch(() => undefined);
  };
  return { port: await listen(server), close };
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The port on which the URL of the run's Postgres is told. */
    postgresDoor: number;
    /** The port on which the URL of the run's browser is told. */
    browserDoor: number;
  }
}
