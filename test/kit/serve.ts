/** Servers in this process, until the end of the test. */
import type { Server } from 'node:http';
import { PassThrough } from 'node:stream';
import type { McpServerFactory } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Tasks, TasksOptions } from '../../src/index.ts';
import { type HttpServer, type ServeHttpOptions, serveHttp, serveStdio } from '../../src/server.ts';
import { type FixtureOptions, fixtureFactory, fixtureTasks, storeFrom } from '../fixture/server.ts';
import { tokensOf } from '../fixture/tokens.ts';
import type { RawClientOptions } from '../serving/raw-client.ts';
import { attached } from './attached.ts';
import { atEnd } from './lifetime.ts';
import { PipeClient } from './pipe-client.ts';
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

export interface ServeFixtureOptions
  extends Partial<Omit<TasksOptions, 'tools'>>,
    Pick<FixtureOptions, 'plainClients' | 'more'> {
  readonly works?: boolean;
  readonly concurrency?: number;
  readonly port?: number;
  /** Owners by their tokens. */
  readonly tokens?: Readonly<Record<string, string>> | undefined;
}

/** The fixture server, on a store in memory unless told otherwise. */
export async function serveFixture(options: ServeFixtureOptions = {}) {
  const { works = true, concurrency = 32, port = 0, tokens, plainClients, more = [], ...others } = options;
  const owner: TasksOptions['owner'] = (credentials) => `owner:${credentials?.clientId}`;
  const store = storeFrom('memory:');
  const tasks = fixtureTasks({ store, ...(tokens && { owner }), ...others }, { more });
  if (works) await tasks.work({ concurrency, grace: '100ms' });
  const http = { port, ...(tokens && { auth: tokensOf(new Map(Object.entries(tokens))) }) };
  const { url, stop } = await serve(tasks, http, fixtureFactory(tasks, plainClients && { plainClients }));
  return { tasks, url, stop };
}

/** The fixture server on a pipe, and the client at its other end. */
export async function fixtureOnPipe(
  options: Partial<Omit<TasksOptions, 'tools'>> = {},
  clientOptions?: RawClientOptions,
) {
  const tasks = fixtureTasks({ store: storeFrom('memory:'), ...options });
  await tasks.work({ grace: '100ms' });
  return { tasks, ...servedOnPipe(tasks, fixtureFactory(tasks), clientOptions) };
}

export function servedOnPipe(tasks: Tasks, factory: McpServerFactory, clientOptions?: RawClientOptions) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport(input, output);
  const server = serveStdio(tasks, factory, { transport, stopOn: [] });
  atEnd(() => server.stop());
  return { server, input, client: new PipeClient(output, input, clientOptions) };
}

export async function originOf(server: Server): Promise<string> {
  const port = await listen(server);
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
