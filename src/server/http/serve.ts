/** A complete server in one call: HTTP on a port, and a graceful shutdown on a signal. */
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
  /** The TCP port. Default 7420; 0 chooses a free port. */
  readonly port?: number;
  /**
   * The address to listen on. Default 127.0.0.1: this machine only. List other host names that clients use in
   * `allowedHosts`.
   */
  readonly host?: string;
  /** The path of the MCP endpoint. Default `/mcp`. */
  readonly path?: string;
  /** How long the server waits for open requests when it stops, before it closes their connections. Default `'10s'`. */
  readonly grace?: Duration;
  /** Signals that stop the server. Default SIGTERM and SIGINT. */
  readonly stopOn?: readonly NodeJS.Signals[];
  /** Serves the operator API and the dashboard at `/operator/`. Default: off. See docs/dashboard.md. */
  readonly operator?: OperatorAccess;
  /** Answers requests for other paths. Their host and origin are checked as for MCP, but not their token. */
  readonly elsewhere?: (req: IncomingMessage, res: ServerResponse) => void;
}

export interface HttpServer {
  /** The URL of the MCP endpoint. */
  readonly url: string;
  /** The URL of the dashboard, if the option `operator` is set. */
  readonly dashboard?: string;
  readonly handler: McpHandler;
  /** Resolves when the server has stopped; rejects if stopping failed. */
  readonly stopped: Promise<void>;
  /** Accepts no more requests, ends the subscriptions, waits for open requests, stops the workers, closes the store. */
  stop(): Promise<void>;
}

/** Serves until the process receives a stop signal. Unfinished tasks stay in the store. */
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
  const admission = new AdmissionControl(options);
  let stopping: Promise<void> | undefined;
  const operations = operationsOf(tasks, options, () => stopping !== undefined);
  const server = createServer((req, res) => {
    if (req.url === path || req.url?.startsWith(`${path}?`)) return handler.node(req, res);
    if (operator?.answers(req.url)) return operator.node(req, res);
    const published = admission.published(req.method ?? 'GET', req.url, req.headers.host);
    if (published) return void writeResponse(res, published);
    const operation = operations.get(pathOf(req.url));
    if (operation || elsewhere) {
      const refusal = admission.refuse(req.headers.host, req.headers.origin);
      if (refusal) return void writeResponse(res, refusal);
      return operation ? void serveOperation(operation, req, res) : elsewhere!(req, res);
    }
    res.writeHead(404, { 'content-type': 'text/plain' }).end(`Not found. MCP is at ${path}.\n`);
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
  // A failure must not crash the process if `stopped` is not awaited.
  stopped.catch(() => {});
  for (const signal of signals) process.on(signal, stop);
  const { port: actual } = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  const at = `http://${name}:${actual}`;
  const dashboard = operator && { dashboard: `${at}${dashboardPath}` };
  return { url: `${at}${path}`, ...dashboard, handler, stopped, stop };
}

/** Connections without any request, which browsers open in advance. Node does not count them as idle. */
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
  // Close kept-alive connections after their last answer.
  const idle = runtime.setInterval(() => server.closeIdleConnections(), 50);
  const grace = runtime.setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  runtime.clearInterval(idle);
  runtime.clearTimeout(grace);
  await handler.close();
}

// --- Health and metrics ------------------------------------------------------------------------------------

export interface OperationsOptions {
  /** The path of the Prometheus metrics, such as `'/metrics'`. Needs `createTasks({ telemetry })`. Default: none. */
  readonly metrics?: string;
  /**
   * Serves `/healthz` (the process responds) and `/readyz` (the store is readable and writable, and the server is not
   * stopping). Default false.
   */
  readonly health?: boolean;
}

function telemetryMissing(path: string): InvalidOptions {
  return new InvalidOptions(
    'TELEMETRY_MISSING',
    `There are no metrics to serve at ${path}: use createTasks({ telemetry: telemetry() }) with holdfast/telemetry.`,
  );
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
}

const prometheus = 'text/plain; version=0.0.4; charset=utf-8';

/** The handlers of the operations endpoints, by path. */
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
  if (!metrics) throw telemetryMissing(path);
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
  const failed = { status: 500, text: 'The metrics cannot be read.\n' };
  const { status, text, type = 'text/plain; charset=utf-8' }: Answer = await answer().catch(() => failed);
  res.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
}

async function readiness(tasks: Tasks, isStopping: boolean): Promise<Answer> {
  if (isStopping) return { status: 503, text: 'stopping\n' };
  if (tasks.storeHealth.failure) return { status: 503, text: 'the store cannot be written\n' };
  try {
    // Any read will do. No task has an empty id.
    await (await tasks.served()).store.get('');
    return { status: 200, text: 'ok\n' };
  } catch {
    // The details are only for the logs.
    return { status: 503, text: 'the store cannot be read\n' };
  }
}
