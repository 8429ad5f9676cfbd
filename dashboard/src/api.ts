/** The operator API over HTTP, with a token. Each method sends one request; nothing is retried here. */

import { readEvents } from '../../src/dialects/event-stream.ts';
import type {
  About,
  ChangeMessage,
  ListOfTasks,
  OperatorApi,
  OverviewReport,
  TaskDetails,
  TaskPage,
  TaskSummary,
} from '../../src/operator/api.ts';
import { NotFound, Offline, Refused, Unauthorized } from './errors.ts';

export { NotFound, Offline, Refused, Unauthorized } from './errors.ts';

type Filter = Parameters<OperatorApi['count']>[0];
type Count = Awaited<ReturnType<OperatorApi['count']>>;
type Result = Awaited<ReturnType<OperatorApi['result']>>;
type Answer = Parameters<OperatorApi['answer']>[2];

/** A server that does not answer within this time counts as offline. */
const requestTimeoutMs = 30_000;

/** A stream that delivers nothing for this long, not even a heartbeat, is treated as broken. */
const streamTimeoutMs = 60_000;

export interface ChangesOptions {
  readonly signal: AbortSignal;
  readonly lastId?: string;
  /** Called when the server accepts the request, and whenever anything arrives. */
  readonly onReceived?: () => void;
}

export class HttpOperatorApi implements OperatorApi {
  readonly #base: string;
  readonly #token: string;

  /** `base` is the URL of the API without a trailing slash. By default the API is next to the dashboard. */
  constructor(token: string, base: string = new URL('./api', location.href).href) {
    this.#base = base;
    this.#token = token;
  }

  about(): Promise<About> {
    return this.#get('/about');
  }

  list(query: ListOfTasks): Promise<TaskPage> {
    const params = paramsOf(query);
    if (query.limit !== undefined) params.set('limit', String(query.limit));
    if (query.cursor !== undefined) params.set('cursor', query.cursor);
    return this.#get(`/tasks?${params}`);
  }

  count(filter: Filter): Promise<Count> {
    return this.#get(`/count?${paramsOf(filter)}`);
  }

  overview({ windowMs }: { readonly windowMs: number }): Promise<OverviewReport> {
    return this.#get(`/overview?window=${windowMs}`);
  }

  details(id: string): Promise<TaskDetails | undefined> {
    return orUndefined(this.#get<TaskDetails>(taskPath(id)));
  }

  result(id: string): Promise<Result> {
    return orUndefined(this.#get<NonNullable<Result>>(`${taskPath(id)}/result`));
  }

  cancel(id: string, reason?: string): Promise<TaskSummary> {
    return this.#post(`${taskPath(id)}/cancel`, reason ? { reason } : {});
  }

  retry(id: string): Promise<TaskSummary> {
    return this.#post(`${taskPath(id)}/retry`, {});
  }

  answer(id: string, key: string, response: Answer): Promise<TaskSummary> {
    return this.#post(`${taskPath(id)}/answer`, { key, response });
  }

  async purge(id: string): Promise<void> {
    await this.#post(`${taskPath(id)}/purge`, {});
  }

  async *changes({ signal, lastId, onReceived = () => {} }: ChangesOptions): AsyncGenerator<ChangeMessage> {
    const timeout = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const restartTimer = () => {
      clearTimeout(timer);
      timer = setTimeout(() => timeout.abort(), streamTimeoutMs);
    };
    restartTimer();
    try {
      const response = await this.#send('/changes', {
        headers: { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) },
        signal: AbortSignal.any([signal, timeout.signal]),
      });
      onReceived();
      const onBytes = () => {
        restartTimer();
        onReceived();
      };
      for await (const { id, event, data } of readEvents(response.body!, { onBytes })) {
        const message = { type: event, id, ...JSON.parse(data || '{}') } as ChangeMessage;
        if (message.type === 'changes' || message.type === 'reset') yield message;
      }
    } catch (error) {
      if (signal.aborted) return;
      throw error instanceof Error && error.name in named ? error : new Offline(undefined, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async #get<T>(path: string): Promise<T> {
    return bodyOf<T>(await this.#send(path, { signal: AbortSignal.timeout(requestTimeoutMs) }));
  }

  async #post<T>(path: string, body: unknown): Promise<T> {
    const response = await this.#send(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(requestTimeoutMs),
    });
    return bodyOf<T>(response);
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    // Such a token cannot be sent in a header, and the browser would report a network failure instead.
    if (!/^[\x21-\x7e]+$/.test(this.#token)) throw new Unauthorized();
    const response = await fetch(`${this.#base}${path}`, {
      ...init,
      headers: { ...init.headers, Authorization: `Bearer ${this.#token}` },
      cache: 'no-store',
      credentials: 'omit',
    }).catch((cause) => {
      throw new Offline(undefined, { cause });
    });
    if (response.ok) return response;
    throw await errorOf(response);
  }
}

const named = { Unauthorized, NotFound, Refused, Offline };

function taskPath(id: string): string {
  return `/tasks/${encodeURIComponent(id)}`;
}

function paramsOf({ statuses = [], ...filter }: Filter): URLSearchParams {
  const params = new URLSearchParams(statuses.map((status) => ['status', status]));
  for (const name of ['tool', 'owner', 'since', 'until', 'text'] as const)
    if (filter[name] !== undefined) params.set(name, String(filter[name]));
  return params;
}

async function bodyOf<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch (cause) {
    throw new Offline('The server’s answer was cut off.', { cause });
  }
}

async function errorOf(response: Response): Promise<Error> {
  const body = await response.json().catch(() => undefined);
  const message: string | undefined = body?.error?.message;
  if (response.status === 401) return new Unauthorized();
  if (response.status === 404) return new NotFound(message);
  // A proxy sends these when the server itself is down.
  if ([502, 503, 504].includes(response.status) && message === undefined) return new Offline();
  return new Refused(message ?? `The server answered with status ${response.status}.`, response.status);
}

async function orUndefined<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof NotFound) return undefined;
    throw error;
  }
}
