/**
 * The operator's desk over HTTP, and the dashboard that speaks to it. Access is by bearer tokens alone and never by
 * cookies, so that no page of another origin can do anything in somebody's name: the operator's own token sees
 * everything, a token that the server itself accepts sees its owner's tasks. The files of the dashboard need none.
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
import { noteTurnedAway } from '../../../task-methods/audit-notes.ts';
import { anonymous } from '../../../task-methods/caller.ts';
import type { Tasks } from '../../tasks.ts';
import { AdmissionControl, type AdmissionOptions } from '../admission.ts';
import { HttpRefusal, parseBody } from '../body.ts';
import { EventBody } from '../event-stream-body.ts';
import { readNodeBody, writeResponse } from '../node.ts';
import { dashboardFile, strictHeaders } from './dashboard-files.ts';
import { type Route, routeOf } from './routes.ts';

export interface OperatorAccess {
  /** Whoever shows it sees and may do everything. At least 22 characters that nobody guesses. */
  readonly token: string;
  /** Also for other machines than this one. Then TLS must stand in front. Default false. */
  readonly allowRemote?: boolean;
}

export interface OperatorHandlerOptions extends AdmissionOptions {
  readonly operator: OperatorAccess;
}

export function operatorExposed(host: string): InvalidOptions {
  return new InvalidOptions(
    'OPERATOR_EXPOSED',
    `The operator's desk would be open to other machines at ${host}. Serve on 127.0.0.1, or say operator: { token, allowRemote: true } and put TLS in front.`,
  );
}

const mostStreams = 64;
/** Of callers all together, so that they cannot shut out the operator, and of one, so that it cannot the others. */
const mostOfCallers = 48;
const mostOfOneCaller = 8;
const largestBody = 2 ** 20;
const challenge = 'Bearer realm="holdfast operator"';

/** What proxies add to requests that they pass on. */
const signsOfProxies = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** A request of Node's, with what Express adds to it. */
type NodeRequest = IncomingMessage & { readonly body?: unknown; readonly originalUrl?: string };

export class OperatorHandler {
  readonly #tasks: Tasks;
  readonly #gate: AdmissionControl;
  readonly #own: AdmissionControl;
  readonly #allowRemote: boolean;
  readonly #onError: (error: Error) => void;
  readonly #changes: Changes;
  /** Each with the owner whose tasks it is about, if it is not the operator's. */
  readonly #streams = new Map<EventBody, Owner | undefined>();
  readonly #version: string;

  constructor(tasks: Tasks, options: OperatorHandlerOptions) {
    const { token, allowRemote = false } = options.operator;
    this.#tasks = tasks;
    this.#gate = new AdmissionControl(options);
    this.#own = new AdmissionControl({ auth: staticTokens({ [token]: { clientId: 'the operator' } }) });
    this.#allowRemote = allowRemote;
    this.#onError = options.onError ?? (() => {});
    this.#changes = new Changes(tasks);
    const about = readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8');
    this.#version = (JSON.parse(about) as { version: string }).version;
  }

  /** How many follow the changes. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Is a request for this handler? */
  answers(url: string | undefined): boolean {
    const path = pathOf(url);
    return path.startsWith(dashboardPath) || `${path}/` === dashboardPath;
  }

  /** For Node's `http` and Express. */
  node = (req: NodeRequest, res: ServerResponse): void => {
    this.#answer(req, res)
      .catch((error: unknown) => this.#worded(error, req.method === 'POST'))
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
    this.#admitPlace(req);
    const url = URL.parse(req.originalUrl ?? req.url ?? '/', 'http://localhost');
    if (!url) throw new HttpRefusal(400, 'The address of the request cannot be read.');
    const { pathname } = url;
    if (pathname === apiPath || pathname.startsWith(`${apiPath}/`)) {
      const viewer = await this.#viewer(headers.authorization);
      const route = routeOf(method, pathname.slice(apiPath.length), url.searchParams);
      return this.#carryOut(route, viewer, req, res);
    }
    if (method !== 'GET' && method !== 'HEAD')
      throw new HttpRefusal(405, 'This can only be read.', { allow: 'GET, HEAD' });
    if (!pathname.startsWith(dashboardPath))
      return new Response(null, { status: 308, headers: { ...strictHeaders, location: dashboardPath } });
    return dashboardFile(pathname.slice(dashboardPath.length));
  }

  /** Whoever reaches this process through a proxy came from elsewhere, however near the proxy is. */
  #admitPlace({ headers, socket }: IncomingMessage): void {
    const refused = this.#gate.refuse(headers.host, headers.origin);
    if (refused)
      throw new HttpRefusal(403, 'This host or origin is not allowed here (allowedHosts, allowedOrigins).');
    if (this.#allowRemote) return;
    const isForwarded = signsOfProxies.some((name) => headers[name] !== undefined);
    if (isForwarded || !isLoopback(socket.remoteAddress ?? ''))
      throw new HttpRefusal(403, 'This is only for the machine that it runs on (operator.allowRemote).');
  }

  async #viewer(authorization: string | undefined): Promise<Viewer> {
    const own = await this.#own.admit(authorization);
    if (!('refusal' in own)) return {};
    const { binding } = this.#tasks;
    if (!this.#gate.isOpen) {
      const admission = await this.#gate.admit(authorization);
      if (!('refusal' in admission)) return { owner: known(binding.ownerOf(admission.authInfo)) };
      const { status } = admission.refusal;
      // Of those whose token could not be checked nothing is known.
      if (status === 503)
        throw new HttpRefusal(503, 'Tokens cannot be verified now. Try again later.', { 'retry-after': '5' });
      if (status === 403) {
        noteTurnedAway(this.#tasks, null, 'Operator: a token without the scopes that are needed (403).');
        throw new HttpRefusal(403, 'The token does not have the scopes that are needed here.');
      }
    }
    noteTurnedAway(this.#tasks, null, 'Operator: no token that is good for this (401).');
    throw new HttpRefusal(401, 'Show a good token: Authorization: Bearer TOKEN.', {
      'www-authenticate': authorization === undefined ? challenge : `${challenge}, error="invalid_token"`,
    });
  }

  async #carryOut(route: Route, viewer: Viewer, req: NodeRequest, res: ServerResponse): Promise<Response> {
    const { owner } = viewer;
    const { limiter } = this.#tasks.binding;
    // Callers are held to the same limits here as when they speak MCP.
    if (owner !== undefined)
      limiter.spend(owner, route.kind === 'act' && route.makesTask ? 'calls' : 'reads');
    const desk = new Operator(this.#tasks, { viewer, version: this.#version, changes: this.#changes });
    if (route.kind === 'read') return json(await route.answer(desk));
    if (route.kind === 'changes') return this.#follow(desk, viewer, req);
    const body = await bodyOf(req, res);
    const act = () => route.act(desk, body);
    if (owner === undefined || !route.makesTask) return json(await act());
    return json(await limiter.makeTask(await this.#tasks.requests(), owner, act));
  }

  #follow(desk: Operator, { owner }: Viewer, { headers, method }: NodeRequest): Response {
    if (method === 'HEAD') throw new HttpRefusal(405, 'This is done with GET, not HEAD.', { allow: 'GET' });
    this.#admitStream(owner);
    const lastId = headers['last-event-id'];
    const leave = owner === undefined ? () => {} : this.#tasks.binding.limiter.subscribe(owner);
    const events = new EventBody(() => {
      if (this.#streams.delete(events)) leave();
    });
    this.#streams.set(events, owner);
    const since = typeof lastId === 'string' && lastId !== '' ? { lastId } : {};
    void tellChanges(events, desk.changes({ signal: events.closed, ...since }));
    const type = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' };
    return new Response(events.stream, { headers: { ...strictHeaders, ...type, 'x-accel-buffering': 'no' } });
  }

  #admitStream(owner: Owner | undefined): void {
    const callers = [...this.#streams.values()].filter((one) => one !== undefined);
    const own = callers.filter((one) => one === owner);
    const isFull =
      this.#streams.size >= mostStreams ||
      (owner !== undefined && (callers.length >= mostOfCallers || own.length >= mostOfOneCaller));
    if (!isFull) return;
    const most =
      owner === undefined ? mostStreams : `${mostOfOneCaller} of a caller, and ${mostOfCallers} of all,`;
    throw new HttpRefusal(503, `No more than ${most} may follow the changes at a time: close one first.`, {
      'retry-after': '10',
    });
  }

  #worded(error: unknown, isAction: boolean): Response {
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
      // What is wrong with the store is for the logs; the file or the server it names is not for callers.
      return refused(503, 'The store cannot be used at present. Try again later.', { 'retry-after': '5' });
    }
    // What only looks can be wrong in nothing but its query.
    if (error instanceof HoldfastError) return refused(isAction ? 409 : 400, error.message);
    this.#onError(error as Error);
    return refused(500, 'Something went wrong here; the log of the server says what.');
  }
}

/** A change is made into a message when the reader has taken the one before it, so that no more than one waits. */
export async function tellChanges(events: EventBody, changes: AsyncIterable<ChangeMessage>): Promise<void> {
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

/** Those who share a name have nothing but their ids to keep them apart, and lists would show these. */
function known(owner: Owner): Owner {
  if (owner !== anonymous) return owner;
  throw new HttpRefusal(
    403,
    'The token does not say whose it is, so there is nothing that it may look over.',
  );
}

/** Forms of other pages cannot send JSON without asking first; and nobody here answers such a question. */
async function bodyOf(req: NodeRequest, res: ServerResponse): Promise<JsonObject> {
  if (!/^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? ''))
    throw new HttpRefusal(415, 'Send JSON: Content-Type: application/json.');
  res.setHeader('cache-control', 'no-store');
  const text = req.body === undefined ? await readNodeBody(req, largestBody) : undefined;
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

export function isLoopback(address: string): boolean {
  return (
    address === 'localhost' ||
    address === '::1' ||
    address === '[::1]' ||
    /^(::ffff:)?127(\.\d{1,3}){3}$/i.test(address)
  );
}

export function pathOf(url = '/'): string {
  return url.split('?', 1)[0]!;
}
