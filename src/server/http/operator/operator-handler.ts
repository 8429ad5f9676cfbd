/**
 * Serves the operator API over HTTP, and the dashboard that uses it. The API accepts only bearer tokens and no cookies,
 * which prevents cross-site requests. The operator's token grants access to everything; a token that the server accepts
 * grants access to the tasks of its owner. The files of the dashboard need no token.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OverLimit } from '../../../dialects/errors.ts';
import { HoldfastError, hasCode, InvalidOptions } from '../../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../../model/json.ts';
import type { Owner } from '../../../model/task.ts';
import { apiPath, type ChangeMessage, dashboardPath, type Viewer } from '../../../operator/api.ts';
import { Changes } from '../../../operator/changes.ts';
import { BadQuery, Operator } from '../../../operator/operator.ts';
import { StoreError, TaskCorrupt } from '../../../ports/store-errors.ts';
import { staticTokens } from '../../../security/tokens.ts';
import { noteRefused } from '../../../task-methods/audit-notes.ts';
import { anonymous } from '../../../task-methods/caller.ts';
import type { Tasks } from '../../tasks.ts';
import { AdmissionControl, type AdmissionOptions } from '../admission.ts';
import { HttpRefusal, parseBody } from '../body.ts';
import { EventBody } from '../event-stream-body.ts';
import { readNodeBody, writeResponse } from '../node.ts';
import { dashboardFile, strictHeaders } from './dashboard-files.ts';
import { type Route, routeOf } from './routes.ts';

export interface OperatorAccess {
  /** Grants full access. At least 22 characters that cannot be guessed. */
  readonly token: string;
  /** Whether requests from other machines are accepted, too. Put TLS in front of this server then. Default false. */
  readonly allowRemote?: boolean;
}

export interface OperatorHandlerOptions extends AdmissionOptions {
  readonly operator: OperatorAccess;
}

export function operatorExposed(host: string): InvalidOptions {
  return new InvalidOptions(
    'OPERATOR_EXPOSED',
    `The operator API would be open to other machines at ${host}. Serve on 127.0.0.1, or set operator: { token, allowRemote: true } and put TLS in front.`,
  );
}

/** The maximum number of open change streams. */
const maxStreams = 64;
/** The maximum for all callers together. The rest is reserved for the operator. */
const maxCallerStreams = 48;
const maxStreamsPerCaller = 8;
/** In bytes. */
const maxBodySize = 2 ** 20;
const challenge = 'Bearer realm="holdfast operator"';

/** Headers that proxies add to forwarded requests. */
const proxyHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** A Node request, with the fields that Express adds. */
type NodeRequest = IncomingMessage & { readonly body?: unknown; readonly originalUrl?: string };

export class OperatorHandler {
  readonly #tasks: Tasks;
  readonly #admission: AdmissionControl;
  readonly #operatorAuth: AdmissionControl;
  readonly #allowRemote: boolean;
  readonly #onError: (error: Error) => void;
  readonly #changes: Changes;
  /** The open change streams, each with its owner; undefined for the operator. */
  readonly #streams = new Map<EventBody, Owner | undefined>();
  readonly #version: string;

  constructor(tasks: Tasks, options: OperatorHandlerOptions) {
    const { token, allowRemote = false } = options.operator;
    this.#tasks = tasks;
    this.#admission = new AdmissionControl(options);
    this.#operatorAuth = new AdmissionControl({
      auth: staticTokens({ [token]: { clientId: 'the operator' } }),
    });
    this.#allowRemote = allowRemote;
    this.#onError = options.onError ?? (() => {});
    this.#changes = new Changes(tasks);
    const about = readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8');
    this.#version = (JSON.parse(about) as { version: string }).version;
  }

  /** The number of open change streams. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Whether this handler serves the path of a request. */
  answers(url: string | undefined): boolean {
    const path = pathOf(url);
    return path.startsWith(dashboardPath) || `${path}/` === dashboardPath;
  }

  /** For Node's `http` and Express. */
  node = (req: NodeRequest, res: ServerResponse): void => {
    this.#answer(req, res)
      .catch((error: unknown) => this.#errorResponse(error, req.method === 'POST'))
      .then((response) => {
        if (response.status === 413) response.headers.set('connection', 'close');
        return writeResponse(res, req.method === 'HEAD' ? new Response(null, response) : response);
      })
      .catch((error: Error) => {
        this.#onError(error);
        res.destroy();
      });
  };

  /** Ends all streams. */
  async close(): Promise<void> {
    for (const stream of [...this.#streams.keys()]) stream.end();
    await this.#changes.close();
  }

  async #answer(req: NodeRequest, res: ServerResponse): Promise<Response> {
    const { headers, method = 'GET' } = req;
    this.#checkOrigin(req);
    const url = URL.parse(req.originalUrl ?? req.url ?? '/', 'http://localhost');
    if (!url) throw new HttpRefusal(400, 'The URL of the request is invalid.');
    const { pathname } = url;
    if (pathname === apiPath || pathname.startsWith(`${apiPath}/`)) {
      const viewer = await this.#viewer(headers.authorization);
      const route = routeOf(method, pathname.slice(apiPath.length), url.searchParams);
      return this.#carryOut(route, viewer, req, res);
    }
    if (method !== 'GET' && method !== 'HEAD')
      throw new HttpRefusal(405, 'Use GET or HEAD here.', { allow: 'GET, HEAD' });
    if (!pathname.startsWith(dashboardPath))
      return new Response(null, { status: 308, headers: { ...strictHeaders, location: dashboardPath } });
    return dashboardFile(pathname.slice(dashboardPath.length));
  }

  /** Refuses other machines. A request through a proxy counts as remote even if the proxy is on this machine. */
  #checkOrigin({ headers, socket }: IncomingMessage): void {
    const refused = this.#admission.refuse(headers.host, headers.origin);
    if (refused)
      throw new HttpRefusal(403, 'This host or origin is not allowed here (allowedHosts, allowedOrigins).');
    if (this.#allowRemote) return;
    const isForwarded = proxyHeaders.some((name) => headers[name] !== undefined);
    if (isForwarded || !isLoopback(socket.remoteAddress ?? ''))
      throw new HttpRefusal(403, 'Only the machine of this server has access (operator.allowRemote).');
  }

  /** Verifies the token. Empty for the operator, who sees everything; otherwise the owner whose tasks are visible. */
  async #viewer(authorization: string | undefined): Promise<Viewer> {
    const own = await this.#operatorAuth.admit(authorization);
    if (!('refusal' in own)) return {};
    const { taskServer } = this.#tasks;
    if (!this.#admission.isOpen) {
      const admission = await this.#admission.admit(authorization);
      if (!('refusal' in admission)) return { owner: withName(taskServer.ownerOf(admission.authInfo)) };
      const { status } = admission.refusal;
      // A token that could not be verified is not recorded as denied.
      if (status === 503)
        throw new HttpRefusal(503, 'Tokens cannot be verified at the moment. Try again later.', {
          'retry-after': '5',
        });
      if (status === 403) {
        noteRefused(this.#tasks, null, 'Operator: a token without the required scopes (403).');
        throw new HttpRefusal(403, 'The token does not have the required scopes.');
      }
    }
    noteRefused(this.#tasks, null, 'Operator: no valid token (401).');
    throw new HttpRefusal(401, 'Send a valid token: Authorization: Bearer TOKEN.', {
      'www-authenticate': authorization === undefined ? challenge : `${challenge}, error="invalid_token"`,
    });
  }

  async #carryOut(route: Route, viewer: Viewer, req: NodeRequest, res: ServerResponse): Promise<Response> {
    const { owner } = viewer;
    const { limiter } = this.#tasks.taskServer;
    // The same limits apply to callers as over MCP.
    if (owner !== undefined)
      limiter.spend(owner, route.kind === 'act' && route.createsTask ? 'calls' : 'reads');
    const operator = new Operator(this.#tasks, { viewer, version: this.#version, changes: this.#changes });
    if (route.kind === 'read') return json(await route.answer(operator));
    if (route.kind === 'changes') return this.#follow(operator, viewer, req);
    const body = await bodyOf(req, res);
    const act = () => route.act(operator, body);
    if (owner === undefined || !route.createsTask) return json(await act());
    return json(await limiter.createTask(await this.#tasks.requests(), owner, act));
  }

  #follow(operator: Operator, { owner }: Viewer, { headers, method }: NodeRequest): Response {
    if (method === 'HEAD') throw new HttpRefusal(405, 'Use GET here, not HEAD.', { allow: 'GET' });
    this.#admitStream(owner);
    const lastId = headers['last-event-id'];
    const leave = owner === undefined ? () => {} : this.#tasks.taskServer.limiter.subscribe(owner);
    const events = new EventBody(() => {
      if (this.#streams.delete(events)) leave();
    });
    this.#streams.set(events, owner);
    const since = typeof lastId === 'string' && lastId !== '' ? { lastId } : {};
    void writeChanges(events, operator.changes({ signal: events.closed, ...since }));
    const type = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' };
    return new Response(events.stream, { headers: { ...strictHeaders, ...type, 'x-accel-buffering': 'no' } });
  }

  /** Refuses a change stream if too many are open. */
  #admitStream(owner: Owner | undefined): void {
    const callers = [...this.#streams.values()].filter((one) => one !== undefined);
    const own = callers.filter((one) => one === owner);
    const isFull =
      this.#streams.size >= maxStreams ||
      (owner !== undefined && (callers.length >= maxCallerStreams || own.length >= maxStreamsPerCaller));
    if (!isFull) return;
    const max =
      owner === undefined ? maxStreams : `${maxStreamsPerCaller} per caller and ${maxCallerStreams} in total`;
    throw new HttpRefusal(503, `Too many open change streams (at most ${max}): close one first.`, {
      'retry-after': '10',
    });
  }

  #errorResponse(error: unknown, isAction: boolean): Response {
    if (error instanceof HttpRefusal) return refused(error.status, error.message, error.headers);
    if (error instanceof OverLimit) {
      const { retryAfterMs = 10_000 } = error;
      return refused(429, error.message, { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) });
    }
    if (hasCode(error, 'TASK_NOT_FOUND')) return refused(404, error.message);
    if (error instanceof BadQuery || hasCode(error, 'BAD_ANSWER')) return refused(400, error.message);
    if (error instanceof TaskCorrupt) {
      this.#onError(error);
      return refused(409, error.forCallers);
    }
    if (error instanceof StoreError) {
      this.#onError(error);
      // The details are only for the logs: they name the file or the database server.
      return refused(503, 'The store is not available at the moment. Try again later.', {
        'retry-after': '5',
      });
    }
    // For a read, only the query can be wrong (400). An action conflicts with the status of its task (409).
    if (error instanceof HoldfastError) return refused(isAction ? 409 : 400, error.message);
    this.#onError(error as Error);
    return refused(500, 'Internal error. See the log of the server.');
  }
}

/** Writes changes with backpressure: at most one message is buffered. */
export async function writeChanges(events: EventBody, changes: AsyncIterable<ChangeMessage>): Promise<void> {
  try {
    for await (const change of changes) {
      await events.write(`id: ${change.id}\nevent: ${change.type}\ndata: ${JSON.stringify(change)}\n\n`);
      await events.untilRoom();
    }
    events.end();
  } catch (error) {
    events.fail(error);
  }
}

/**
 * Returns the owner, but refuses the anonymous one: all callers without an identity share it, and a list would reveal
 * the task ids that protect their tasks.
 */
function withName(owner: Owner): Owner {
  if (owner !== anonymous) return owner;
  throw new HttpRefusal(403, 'The token does not identify an owner, so it grants no access to tasks here.');
}

/** Reads a JSON body. Pages of other origins cannot send JSON without a CORS preflight, which this server refuses. */
async function bodyOf(req: NodeRequest, res: ServerResponse): Promise<JsonObject> {
  if (!/^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? ''))
    throw new HttpRefusal(415, 'Send JSON: Content-Type: application/json.');
  res.setHeader('cache-control', 'no-store');
  const text = req.body === undefined ? await readNodeBody(req, maxBodySize) : undefined;
  const body = text === undefined ? req.body : text === '' ? {} : parseBody(text);
  if (!isJsonObject(body)) throw new HttpRefusal(400, 'The body must be a JSON object, such as {}.');
  return body;
}

function json(value: unknown): Response {
  return new Response(JSON.stringify(value), { headers: jsonHeaders });
}

function refused(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify({ error: { message } }), {
    status,
    headers: { ...jsonHeaders, ...headers },
  });
}

const jsonHeaders = {
  ...strictHeaders,
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** True for an address or host name of this machine. */
export function isLoopback(address: string): boolean {
  return (
    address === 'localhost' ||
    address === '::1' ||
    address === '[::1]' ||
    /^(::ffff:)?127(\.\d{1,3}){3}$/i.test(address)
  );
}

/** The URL of a request without its query. */
export function pathOf(url = '/'): string {
  return url.split('?', 1)[0]!;
}
