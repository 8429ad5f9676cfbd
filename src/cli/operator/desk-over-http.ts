/** The operator's desk of a server elsewhere, over HTTP. Each method is one request; `changes` is one connection. */
import type { JsonObject } from '../../model/json.ts';
import { abortAfter } from '../../model/runtime.ts';
import {
  type About,
  apiPath,
  type ChangeMessage,
  dashboardPath,
  type ListOfTasks,
  type OperatorDesk,
} from '../../operator/api.ts';
import { readEvents } from '../../protocol/event-stream.ts';
import { oneLine } from '../live/terminal-text.ts';
import { CommandFailed, WrongUsage } from '../usage.ts';

/** The server did not answer, or broke off: to try again may help. */
export class ServerAway extends CommandFailed {}

export interface ServerAddress {
  /** Where the operator's view is below, without a slash at its end. */
  readonly base: string;
  readonly token: string | undefined;
}

const patienceMs = 30_000;

/** The address of a server, or of its dashboard as it was printed, with the token in it. */
export function serverAddress(text: string): ServerAddress {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new WrongUsage(`"${oneLine(text)}" is no address: --url takes one such as http://127.0.0.1:7420`);
  const token = new URLSearchParams(url.hash.slice(1)).get('token') ?? undefined;
  const place = url.pathname
    .replace(new RegExp(`${dashboardPath.slice(0, -1)}(/.*)?$`), '')
    .replace(/\/+$/, '');
  return { base: `${url.origin}${place}`, token };
}

export function deskOverHttp(address: ServerAddress): OperatorDesk & AsyncDisposable {
  const server = new Server(address);
  return {
    about: () => server.about(),
    list: (query) => server.wanted(`/tasks?${queryOf(query)}`),
    count: (filter) => server.wanted(`/count?${queryOf(filter)}`),
    overview: ({ windowMs }) => server.wanted(`/overview?window=${windowMs}`),
    story: (id) => server.found(`/tasks/${encodeURIComponent(id)}`),
    // 409: it is there, and not done.
    result: (id) => server.found(`/tasks/${encodeURIComponent(id)}/result`, [404, 409]),
    cancel: (id, reason) => server.act(id, 'cancel', reason === undefined ? {} : { reason }),
    retry: (id) => server.act(id, 'retry', {}),
    answer: (id, key, response) => server.act(id, 'answer', { key, response }),
    purge: (id) => server.act(id, 'purge', {}),
    changes: ({ signal, lastId }) => server.changes(signal, lastId),
    [Symbol.asyncDispose]: async () => server.close(),
  };
}

class Server {
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #closed = new AbortController();

  constructor({ base, token }: ServerAddress) {
    this.#base = base;
    this.#token = token;
  }

  /** What was asked and not answered yet would hold the process. */
  close(): void {
    this.#closed.abort();
  }

  async about(): Promise<About> {
    const about = await this.found<About>('/about');
    if (typeof about?.now !== 'number') throw this.#isNoDesk();
    return about;
  }

  async wanted<T>(path: string): Promise<T> {
    const found = await this.found<T>(path);
    if (found === undefined) throw this.#isNoDesk();
    return found;
  }

  /** Undefined if there is none of it. */
  found<T>(path: string, statusesOfNone = [404]): Promise<T | undefined> {
    return this.#asked(path, {}, statusesOfNone);
  }

  act<T>(id: string, what: string, body: JsonObject): Promise<T> {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return this.#asked(`/tasks/${encodeURIComponent(id)}/${what}`, init, []) as Promise<T>;
  }

  async *changes(signal: AbortSignal, lastId: string | undefined): AsyncIterable<ChangeMessage> {
    const headers = { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) };
    try {
      const response = await this.#fetch('/changes', { headers, signal });
      if (!response.ok) throw await this.#refusal(response);
      if (!response.body || !isOf(response, 'text/event-stream')) throw this.#isNoDesk();
      for await (const { id, event, data } of readEvents(response.body)) {
        const said = parsed(data);
        if (typeof said !== 'object' || said === null) continue;
        const message = { type: event, id, ...said } as ChangeMessage;
        if (message.type === 'changes' || message.type === 'reset') yield message;
      }
    } catch (error) {
      if (signal.aborted) return;
      throw error instanceof CommandFailed ? error : this.#isAway(error);
    }
    if (!signal.aborted) throw this.#isAway();
  }

  async #asked<T>(
    path: string,
    init: RequestInit,
    statusesOfNone: readonly number[],
  ): Promise<T | undefined> {
    const signal = AbortSignal.any([abortAfter(patienceMs), this.#closed.signal]);
    const response = await this.#fetch(path, { ...init, signal });
    if (statusesOfNone.includes(response.status) && isOf(response, 'application/json')) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) throw await this.#refusal(response);
    const text = await response.text().catch((error: unknown) => {
      throw this.#isAway(error);
    });
    const value = parsed(text);
    if (value === undefined && text !== '') throw this.#isNoDesk();
    return value as T;
  }

  /** Redirects are not followed: the token is for this server and no other. */
  async #fetch(path: string, { headers, ...init }: RequestInit): Promise<Response> {
    const bearer = this.#token === undefined ? undefined : { authorization: `Bearer ${this.#token}` };
    try {
      return await fetch(`${this.#base}${apiPath}${path}`, {
        ...init,
        headers: { ...bearer, ...(headers as Record<string, string>) },
        redirect: 'manual',
      });
    } catch (error) {
      throw this.#isAway(error);
    }
  }

  async #refusal(response: Response): Promise<CommandFailed> {
    const { status } = response;
    const said = parsed(await response.text().catch(() => '')) as
      | { error?: { message?: unknown } }
      | undefined;
    const words = typeof said?.error?.message === 'string' ? oneLine(said.error.message) : undefined;
    if (status === 401) {
      const what = this.#token === undefined ? 'wants a token' : 'does not accept this token';
      return new CommandFailed(
        `The server at ${this.#base} ${what}: set HOLDFAST_OPERATOR_TOKEN to the one that it was given, or take the address of its dashboard for --url as the server printed it.`,
      );
    }
    if (words === undefined && (status === 404 || status < 400)) return this.#isNoDesk();
    const sentence = words ?? `The server at ${this.#base} answered with status ${status}.`;
    return status >= 500 || status === 429 ? new ServerAway(sentence) : new CommandFailed(sentence);
  }

  #isAway(error?: unknown): ServerAway {
    const { name, message, cause } = (error ?? {}) as Error;
    const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException;
    if (name === 'TimeoutError')
      return new ServerAway(`The server at ${this.#base} did not answer within ${patienceMs / 1_000} s.`);
    if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
      return new ServerAway(
        `No server answers at ${this.#base} (${code}): see that it runs, and that --url has its address.`,
      );
    const reason = oneLine(why || code || message || '');
    return new ServerAway(
      `The connection to ${this.#base} broke off${reason === '' ? '' : ` (${reason})`}: try again.`,
    );
  }

  #isNoDesk(): CommandFailed {
    return new CommandFailed(
      `The server at ${this.#base} has no operator's view: see that --url has the address of one, and that it was switched on.`,
    );
  }
}

function queryOf({ standings = [], owner, tool, since, until, text, limit, cursor }: ListOfTasks) {
  const query = new URLSearchParams();
  for (const standing of standings) query.append('status', standing);
  for (const [name, value] of Object.entries({ owner, tool, since, until, text, limit, cursor }))
    if (value !== undefined) query.set(name, String(value));
  return query;
}

function isOf({ headers }: Response, type: string): boolean {
  return headers.get('content-type')?.startsWith(type) ?? false;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
