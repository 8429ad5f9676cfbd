/** A whole server in one call: the HTTP face on a port, and a graceful end when the process is told to stop. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { McpServerFactory } from '@modelcontextprotocol/server';
import { type Duration, toMs } from '../../model/duration.ts';
import { InvalidOptions } from '../../model/errors.ts';
import { dashboardPath } from '../../operator/api.ts';
import { runtime } from '../../runtime/runtime.ts';
import type { Tasks } from '../tasks.ts';
import { AdmissionControl } from './admission.ts';
import { type HandlerOptions, McpHandler } from './handler.ts';
import { writeResponse } from './node.ts';
import {
  isLoopback,
  type OperatorAccess,
  OperatorHandler,
  operatorExposed,
  pathOf,
} from './operator/operator-handler.ts';

export interface ServeHttpOptions extends HandlerOptions, OperationsOptions {
  /** Default 7420; 0 takes any that is free. */
  readonly port?: number;
  /** Default 127.0.0.1: this machine only. To be reachable under other names, allow them in `allowedHosts`. */
  readonly host?: string;
  /** Default `/mcp`. */
  readonly path?: string;
  /** How long open requests may take to end when the server stops. Default `'10s'`. */
  readonly grace?: Duration;
  /** Signals that stop the server. Default SIGTERM and SIGINT. */
  readonly stopOn?: readonly NodeJS.Signals[];
  /** The operator's desk and the dashboard, at `/operator/`. By default there is none. See docs/dashboard.md. */
  readonly operator?: OperatorAccess;
  /** Answers requests for other paths. Their host and origin have been checked as those of MCP are; no token is. */
  readonly elsewhere?: (req: IncomingMessage, res: ServerResponse) => void;
}

export interface HttpServer {
  readonly url: string;
  /** Where the dashboard is, if there is one. */
  readonly dashboard?: string;
  readonly handler: McpHandler;
  /** Resolves when the server has stopped, whatever stopped it. */
  readonly stopped: Promise<void>;
  /** Takes no more requests, ends the subscriptions, lets open requests end, stops the workers, closes the store. */
  stop(): Promise<void>;
}

/** Serves until the process gets a signal to stop. What was not done then waits in the store. */
export async function serveHttp(
  tasks: Tasks,
  factory: McpServerFactory,
  options: ServeHttpOptions = {},
): Promise<HttpServer> {
  const { port = 7420, host = '127.0.0.1', path = '/mcp', grace = '10s', elsewhere } = options;
  const { operator: access } = options;
  if (access && !access.allowRemote && !isLoopback(host)) throw operatorExposed(host);
  const operator = access && new OperatorHandler(tasks, { ...options, operator: access });
  const signals = options.stopOn ?? ['SIGTERM', 'SIGINT'];
  const handler = new McpHandler(tasks, factory, options);
  const gate = new AdmissionControl(options);
  let stopping: Promise<void> | undefined;
  const operations = operationsOf(tasks, options, () => stopping !== undefined);
  const server = createServer((req, res) => {
    if (req.url === path || req.url?.startsWith(`${path}?`)) return handler.node(req, res);
    if (operator?.answers(req.url)) return operator.node(req, res);
    const published = gate.published(req.method ?? 'GET', req.url, req.headers.host);
    if (published) return void writeResponse(res, published);
    const operation = operations.get(pathOf(req.url));
    if (operation || elsewhere) {
      const refusal = gate.refuse(req.headers.host, req.headers.origin);
      if (refusal) return void writeResponse(res, refusal);
      return operation ? void serveOperation(operation, req, res) : elsewhere!(req, res);
    }
    res.writeHead(404, { 'content-type': 'text/plain' }).end(`There is nothing here. MCP is at ${path}.\n`);
  });
  const silent = silentConnections(server);
  await once(server.listen(port, host), 'listening');
  const { promise: stopped, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => {
    stopping ??= (async () => {
      for (const signal of signals) process.off(signal, stop);
      await operator?.close();
      await drain(server, handler, silent, toMs(grace));
      await tasks.close();
    })();
    stopping.then(resolve, reject);
    return stopping;
  };
  stopped.catch(() => {});
  for (const signal of signals) process.on(signal, stop);
  const { port: actual } = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  const at = `http://${name}:${actual}`;
  const dashboard = operator && { dashboard: `${at}${dashboardPath}` };
  return { url: `${at}${path}`, ...dashboard, handler, stopped, stop };
}

/** Connections without a request so far, such as browsers keep ready. Node does not count them among the idle ones. */
function silentConnections(server: Server): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', ({ socket }) => silent.delete(socket));
  return silent;
}

async function drain(
  server: Server,
  handler: McpHandler,
  silent: ReadonlySet<Socket>,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  handler.endSubscriptions();
  server.closeIdleConnections();
  for (const socket of silent) socket.destroy();
  // A connection that was kept alive is closed once its last answer is out.
  const idle = runtime.setInterval(() => server.closeIdleConnections(), 50);
  const grace = runtime.setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  runtime.clearInterval(idle);
  runtime.clearTimeout(grace);
  await handler.close();
}

// --- Health and metrics ------------------------------------------------------------------------------------

export interface OperationsOptions {
  /** Where Prometheus finds what was counted, such as `'/metrics'`. Needs `createTasks({ telemetry })`. By default nowhere. */
  readonly metrics?: string;
  /** Answers `/healthz` (the process answers) and `/readyz` (the store can be read and written, and nothing stops). Default false. */
  readonly health?: boolean;
}

function nothingCounted(path: string): InvalidOptions {
  return new InvalidOptions(
    'TELEMETRY_MISSING',
    `There is nothing to show at ${path}: give createTasks({ telemetry: telemetry() }) of holdfast/telemetry.`,
  );
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
}

const prometheus = 'text/plain; version=0.0.4; charset=utf-8';

/** What answers at which path. */
function operationsOf(
  tasks: Tasks,
  { metrics: path, health = false }: OperationsOptions,
  isStopping: () => boolean,
): ReadonlyMap<string, () => Promise<Answer>> {
  const answers = new Map<string, () => Promise<Answer>>();
  if (health) {
    answers.set('/healthz', async () => ({ status: 200, text: 'ok\n' }));
    answers.set('/readyz', () => readiness(tasks, isStopping()));
  }
  if (path === undefined) return answers;
  const { metrics } = tasks.observer;
  if (!metrics) throw nothingCounted(path);
  return answers.set(path, async () => ({ status: 200, text: await metrics(), type: prometheus }));
}

async function serveOperation(
  answer: () => Promise<Answer>,
  { method }: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') {
    res.writeHead(405, { allow: 'GET, HEAD' }).end();
    return;
  }
  const failed = { status: 500, text: 'It cannot be told.\n' };
  const { status, text, type = 'text/plain; charset=utf-8' }: Answer = await answer().catch(() => failed);
  res.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
}

async function readiness(tasks: Tasks, isStopping: boolean): Promise<Answer> {
  if (isStopping) return { status: 503, text: 'stopping\n' };
  if (tasks.storeHealth.failure) return { status: 503, text: 'the store cannot be written\n' };
  try {
    await (await tasks.served()).store.get('');
    return { status: 200, text: 'ok\n' };
  } catch {
    // What is wrong with the store is for the logs, not for whoever asks.
    return { status: 503, text: 'the store cannot be read\n' };
  }
}
