/** One Postgres for all test files of a run, started when the first of them asks for it. */
import { createServer } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgres } from './server.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let started: Promise<PostgresServer> | undefined;
  const door = createServer((socket) => {
    socket.on('error', () => {});
    started ??= startPostgres({ fsync: false });
    started.then(
      ({ url }) => socket.end(url),
      (error) => socket.end(`failed: ${error.message}`),
    );
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  project.provide('postgresDoor', (door.address() as { port: number }).port);
  return async () => {
    door.close();
    await (await started?.catch(() => undefined))?.stop();
  };
}

declare module 'vitest' {
  interface ProvidedContext {
    /** The port on which the URL of the run's Postgres is told. */
    postgresDoor: number;
  }
}
