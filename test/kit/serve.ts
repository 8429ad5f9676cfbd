/** Servers in this process, until the end of the test. */
import type { Server } from 'node:http';
import type { McpServerFactory } from '@modelcontextprotocol/server';
import type { Tasks, TasksOptions } from '../../src/index.ts';
import { type HttpServer, type ServeHttpOptions, serveHttp } from '../../src/server.ts';
import { type FixtureOptions, fixtureFactory, fixtureTasks, storeFrom } from '../fixture/server.ts';
import { attached } from './attached.ts';
import { atEnd } from './lifetime.ts';
import { listen } from './port.ts';

/** By default its only tools are the durable ones. */
export async function serve(
  tasks: Tasks,
  options: Partial<ServeHttpOptions> = {},
  factory: McpServerFactory = attached(tasks),
): Promise<HttpServer> {
  const server = await serveHttp(tasks, factory, { port: 0, grace: '1s', stopOn: [], ...options });
  atEnd(() => server.stop());
  return server;
}

/** The fixture server, on a store in memory unless told otherwise. */
export async function serveFixture(
  options: Partial<TasksOptions> & FixtureOptions & { works?: boolean } = {},
  http: Partial<ServeHttpOptions> = {},
): Promise<{ tasks: Tasks; url: string; stop(): Promise<void> }> {
  const { works = true, plainClients, ...more } = options;
  const tasks = fixtureTasks({ store: storeFrom('memory:'), ...more });
  if (works) await tasks.work({ concurrency: 32, grace: '100ms' });
  const { url, stop } = await serve(tasks, http, fixtureFactory(tasks, plainClients && { plainClients }));
  return { tasks, url, stop };
}

/** The origin of a bare HTTP server. */
export async function originOf(server: Server): Promise<string> {
  const port = await listen(server);
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
