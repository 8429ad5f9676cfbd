/** The operator API of a server, over HTTP. Each method is one request; `changes` is one connection. */

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

/** The server did not answer or the connection broke. Retrying may help. */
export class ServerUnavailable extends CommandFailed {}

/**
 * `base` is the URL before the path of the operator API, without a trailing slash. `token` is the one in the address.
 */
type ServerAddress = { readonly base: string; readonly token: string | undefined };

/** For all requests except `changes`. */
const timeoutMs = 30_000;

/** Parses the address of a server, or of its dashboard with the token. */
export function serverAddress(text: string): ServerAddress {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new WrongUsage(
      `"${oneLine(text)}" is not a URL: use --url with an address such as http://127.0.0.1:7420`,
    );
  const token = new URLSearchParams(url.hash.slice(1)).get('token') ?? undefined;
  const path = url.pathname
    .replace(new RegExp(`${dashboardPath.slice(0, -1)}(/.*)?$`), '')
    .replace(/\/+$/, '');
  return { base: `${url.origin}${path}`, token };
}

export function operatorOverHttp({ base, token }: ServerAddress): OperatorApi & AsyncDisposable {
  const closed = new AbortController();

  /** Does not follow redirects, because the token is only for this server. */
  const request = async (path: string, { headers, ...init }: RequestInit): Promise<Response> => {
    const bearer = token === undefined ? undefined : { authorization: `Bearer ${token}` };
    try {
      return await fetch(`${base}${apiPath}${path}`, {
        ...init,
        headers: { ...bearer, ...(headers as Record<string, string>) },
        redirect: 'manual',
      });
    } catch (error) {
      throw unavailable(base, error);
    }
  };
  /** Undefined if the server answers with one of the statuses in `none`. */
  const find = async <T>(path: string, none = [404], init: RequestInit = {}): Promise<T | undefined> => {
    const signal = AbortSignal.any([abortAfter(timeoutMs), closed.signal]);
    const response = await request(path, { ...init, signal });
    // Without JSON the status is not from the operator API.
    if (none.includes(response.status) && isOf(response, 'application/json')) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) throw await refusal(response, base, token);
    const text = await response.text().catch((error: unknown) => {
      throw unavailable(base, error);
    });
    const value = parsed(text);
    if (value === undefined && text !== '') throw noOperatorApi(base);
    return value as T;
  };
  const get = async <T>(path: string): Promise<T> => {
    const value = await find<T>(path);
    if (value === undefined) throw noOperatorApi(base);
    return value;
  };
  const act = <T>(id: string, what: string, body: JsonObject): Promise<T> => {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return find(`${taskPath(id)}/${what}`, [], init) as Promise<T>;
  };

  return {
    about: async () => {
      const about = await find<About>('/about');
      if (typeof about?.now !== 'number') throw noOperatorApi(base);
      return about;
    },
    list: (query) => get(`/tasks?${queryOf(query)}`),
    count: (filter) => get(`/count?${queryOf(filter)}`),
    overview: ({ windowMs }) => get(`/overview?window=${windowMs}`),
    details: (id) => find(taskPath(id)),
    // 409: the task exists and is not finished.
    result: (id) => find(`${taskPath(id)}/result`, [404, 409]),
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
        if (!response.body || !isOf(response, 'text/event-stream')) throw noOperatorApi(base);
        for await (const { id, event, data } of readEvents(response.body)) {
          const fields = parsed(data);
          if (typeof fields !== 'object' || fields === null) continue;
          const message = { type: event, id, ...fields } as ChangeMessage;
          if (message.type === 'changes' || message.type === 'reset') yield message;
        }
      } catch (error) {
        if (signal.aborted) return;
        throw error instanceof CommandFailed ? error : unavailable(base, error);
      }
      if (!signal.aborted) throw unavailable(base);
    },
    /** Aborts open requests, which would keep the process alive. */
    [Symbol.asyncDispose]: async () => closed.abort(),
  };
}

function taskPath(id: string): string {
  return `/tasks/${encodeURIComponent(id)}`;
}

function queryOf({ statuses = [], owner, tool, since, until, text, limit, cursor }: ListOfTasks) {
  const query = new URLSearchParams();
  for (const status of statuses) query.append('status', status);
  for (const [name, value] of Object.entries({ owner, tool, since, until, text, limit, cursor }))
    if (value !== undefined) query.set(name, String(value));
  return query;
}

function isOf({ headers }: Response, type: string): boolean {
  return headers.get('content-type')?.startsWith(type) ?? false;
}

/** Undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// --- Errors -------------------------------------------------------------------------------------------------

/** The error for a response that is not successful. */
async function refusal(response: Response, base: string, token: string | undefined): Promise<CommandFailed> {
  const { status } = response;
  const body = parsed(await response.text().catch(() => '')) as { error?: { message?: unknown } } | undefined;
  const message = typeof body?.error?.message === 'string' ? oneLine(body.error.message) : undefined;
  if (status === 401) {
    const what = token === undefined ? 'requires a token' : 'does not accept this token';
    return new CommandFailed(
      `The server at ${base} ${what}: set HOLDFAST_OPERATOR_TOKEN to its token, or use --url with the dashboard address that the server printed.`,
    );
  }
  // A status below 400 is a redirect, which is not followed.
  if (message === undefined && (status === 404 || status < 400)) return noOperatorApi(base);
  const sentence = message ?? `The server at ${base} answered with status ${status}.`;
  return status >= 500 || status === 429 ? new ServerUnavailable(sentence) : new CommandFailed(sentence);
}

function unavailable(base: string, error?: unknown): ServerUnavailable {
  const { name, message, cause } = (error ?? {}) as Error;
  const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException;
  if (name === 'TimeoutError')
    return new ServerUnavailable(`The server at ${base} did not answer within ${timeoutMs / 1_000} s.`);
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new ServerUnavailable(
      `No server answers at ${base} (${code}): check that it is running and that --url is its address.`,
    );
  const reason = oneLine(why || code || message || '');
  return new ServerUnavailable(
    `The connection to ${base} was lost${reason === '' ? '' : ` (${reason})`}: try again.`,
  );
}

function noOperatorApi(base: string): CommandFailed {
  return new CommandFailed(
    `The server at ${base} has no operator API: check that --url is correct and that the server enables it.`,
  );
}
