/** One Postgres and one browser for all test files of a run, each started when the first of them asks for it. */
import { createServer, type Server } from 'node:net';
import type { TestProject } from 'vitest/node';
import { openPostgres } from '../../src/postgres.ts';
import { type PostgresServer, startPostgres } from '../postgres/server.ts';
import { type BrowserServer, launchBrowser } from './browser-server.ts';
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
    const started: [PostgresServer | undefined, BrowserServer | undefined] = await Promise.all([
      postgres.close(),
      browser.close(),
    ]);
    await Promise.all(started.map((one) => one?.stop()));
  };
}

interface Door<T> {
  readonly port: number;
  /** Gives what was started, if anybody asked. */
  close(): Promise<T | undefined>;
}

/** Whoever connects is told the URL of what then runs. */
async function door<T extends { readonly url: string }>(start: () => Promise<T>): Promise<Door<T>> {
  let started: Promise<T> | undefined;
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    started ??= start();
    started.then(
      ({ url }) => socket.end(url),
      (error) => socket.end(`failed: ${error.message}`),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    close: async () => {
      server.close();
      return started?.catch(() => undefined);
    },
  };
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The port on which the URL of the run's Postgres is told. */
    postgresDoor: number;
    /** The port on which the URL of the run's browser is told. */
    browserDoor: number;
  }
}
