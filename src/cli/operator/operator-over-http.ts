/** The operator's desk of a server elsewhere, over HTTP. Each method is one request; `changes` is one connection. */

import { readEvents } from '../../dialects/event-stream.ts';
import type { JsonObject } from '../../model/json.ts';
import {
  type About,
  apiPath,
  type ChangeMessage,
  dashboardPath,
  type ListOfTasks,
  type OperatorApi,
} from '../../operator/api.ts';
import { abortAfter } from '../../runtime/runtime.ts';
import { CommandFailed, WrongUsage } from '../usage.ts';
import { oneLine } from '../views/terminal-text.ts';

/** The server did not answer, or broke off: to try again may help. */
export class ServerAway extends CommandFailed {}

/** Where the operator's view is below, without a slash at its end, and the token that was given with it. */
type ServerAddress = { readonly base: string; readonly token: string | undefined };

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

export function deskOverHttp({ base, token }: ServerAddress): OperatorApi & AsyncDisposable {
  const closed = new AbortController();

  /** Redirects are not followed: the token is for this server and no other. */
  const request = async (path: string, { headers, ...init }: RequestInit): Promise<Response> => {
    const bearer = token === undefined ? undefined : { authorization: `Bearer ${token}` };
    try {
      return await fetch(`${base}${apiPath}${path}`, {
        ...init,
        headers: { ...bearer, ...(headers as Record<string, string>) },
        redirect: 'manual',
      });
    } catch (error) {
      throw away(base, error);
    }
  };
  /** Undefined if there is none of it, which these statuses say. */
  const found = async <T>(path: string, none = [404], init: RequestInit = {}): Promise<T | undefined> => {
    const signal = AbortSignal.any([abortAfter(patienceMs), closed.signal]);
    const response = await request(path, { ...init, signal });
    if (none.includes(response.status) && isOf(response, 'application/json')) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) throw await refusal(response, base, token);
    const text = await response.text().catch((error: unknown) => {
      throw away(base, error);
    });
    const value = parsed(text);
    if (value === undefined && text !== '') throw noDesk(base);
    return value as T;
  };
  const wanted = async <T>(path: string): Promise<T> => {
    const value = await found<T>(path);
    if (value === undefined) throw noDesk(base);
    return value;
  };
  const act = <T>(id: string, what: string, body: JsonObject): Promise<T> => {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return found(`${taskPath(id)}/${what}`, [], init) as Promise<T>;
  };

  return {
    about: async () => {
      const about = await found<About>('/about');
      if (typeof about?.now !== 'number') throw noDesk(base);
      return about;
    },
    list: (query) => wanted(`/tasks?${queryOf(query)}`),
    count: (filter) => wanted(`/count?${queryOf(filter)}`),
    overview: ({ windowMs }) => wanted(`/overview?window=${windowMs}`),
    details: (id) => found(taskPath(id)),
    // 409: it is there, and not done.
    result: (id) => found(`${taskPath(id)}/result`, [404, 409]),
    cancel: (id, reason) => act(id, 'cancel', reason === undefined ? {} : { reason }),
    retry: (id) => act(id, 'retry', {}),
    answer: (id, key, response) => act(id, 'answer', { key, response }),
    purge: (id) => act(id, 'purge', {}),
    async *changes({ signal, lastId }) {
      const resumed = lastId === undefined ? undefined : { 'last-event-id': lastId };
      try {
        const headers = { accept: 'text/event-stream', ...resumed };
        const response = await request('/changes', { headers, signal });
        if (!response.ok) throw await refusal(response, base, token);
        if (!response.body || !isOf(response, 'text/event-stream')) throw noDesk(base);
        for await (const { id, event, data } of readEvents(response.body)) {
          const said = parsed(data);
          if (typeof said !== 'object' || said === null) continue;
          const message = { type: event, id, ...said } as ChangeMessage;
          if (message.type === 'changes' || message.type === 'reset') yield message;
        }
      } catch (error) {
        if (signal.aborted) return;
        throw error instanceof CommandFailed ? error : away(base, error);
      }
      if (!signal.aborted) throw away(base);
    },
    /** What was asked and not answered yet would hold the process. */
    [Symbol.asyncDispose]: async () => closed.abort(),
  };
}

function taskPath(id: string): string {
  return `/tasks/${encodeURIComponent(id)}`;
}

function queryOf({ statuses: standings = [], owner, tool, since, until, text, limit, cursor }: ListOfTasks) {
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

// --- What went wrong ----------------------------------------------------------------------------------------

async function refusal(response: Response, base: string, token: string | undefined): Promise<CommandFailed> {
  const { status } = response;
  const said = parsed(await response.text().catch(() => '')) as { error?: { message?: unknown } } | undefined;
  const words = typeof said?.error?.message === 'string' ? oneLine(said.error.message) : undefined;
  if (status === 401) {
    const what = token === undefined ? 'wants a token' : 'does not accept this token';
    return new CommandFailed(
      `The server at ${base} ${what}: set HOLDFAST_OPERATOR_TOKEN to the one that it was given, or take the address of its dashboard for --url as the server printed it.`,
    );
  }
  if (words === undefined && (status === 404 || status < 400)) return noDesk(base);
  const sentence = words ?? `The server at ${base} answered with status ${status}.`;
  return status >= 500 || status === 429 ? new ServerAway(sentence) : new CommandFailed(sentence);
}

function away(base: string, error?: unknown): ServerAway {
  const { name, message, cause } = (error ?? {}) as Error;
  const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException;
  if (name === 'TimeoutError')
    return new ServerAway(`The server at ${base} did not answer within ${patienceMs / 1_000} s.`);
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new ServerAway(
      `No server answers at ${base} (${code}): see that it runs, and that --url has its address.`,
    );
  const reason = oneLine(why || code || message || '');
  return new ServerAway(
    `The connection to ${base} broke off${reason === '' ? '' : ` (${reason})`}: try again.`,
  );
}

function noDesk(base: string): CommandFailed {
  return new CommandFailed(
    `The server at ${base} has no operator's view: see that --url has the address of one, and that it was switched on.`,
  );
}
