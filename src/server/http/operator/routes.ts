/** From a request below `/operator/api` to a method of the desk: paths, queries, bodies, and what is wrong with them. */

import { refusal } from '../../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../../model/json.ts';
import { type TaskStatus, taskStatuses } from '../../../model/status.ts';
import type { TaskId } from '../../../model/task.ts';
import type { ListOfTasks, OperatorApi } from '../../../operator/api.ts';
import { BadQuery } from '../../../operator/operator.ts';
import type { TaskFilter } from '../../../ports/query.ts';
import { HttpRefusal } from '../body.ts';

export type Route =
  | { readonly kind: 'read'; readonly answer: (desk: OperatorApi) => Promise<unknown> }
  | { readonly kind: 'changes' }
  | {
      readonly kind: 'act';
      /** A new task is made of it. */
      readonly makesTask: boolean;
      readonly act: (desk: OperatorApi, body: JsonObject) => Promise<unknown>;
    };

const defaultWindow = '3600000';
const longestText = 500;

const read = (answer: (desk: OperatorApi) => Promise<unknown>): Route => ({ kind: 'read', answer });
const act = (
  carryOut: (desk: OperatorApi, body: JsonObject) => Promise<unknown>,
  makesTask = false,
): Route => ({
  kind: 'act',
  makesTask,
  act: carryOut,
});

/** What a request is for; `path` is what follows the API's own. Refuses what there is not. */
export function routeOf(method: string, path: string, query: URLSearchParams): Route {
  const [, place = '', rawId, what, ...rest] = path.split('/');
  if (rest.length > 0) throw nothingAt(path);
  if (place === 'tasks' && rawId !== undefined) return ofTask(method, idIn(rawId, path), what, path, query);
  const names = rawId === undefined && Object.hasOwn(places, place) ? places[place] : undefined;
  if (!names) throw nothingAt(path);
  allow(method, 'GET');
  only(query, ...names);
  if (place === 'changes') return { kind: 'changes' };
  if (place === 'about') return read((desk) => desk.about());
  if (place === 'overview') {
    const windowMs = numberIn('window', single(query, 'window') ?? defaultWindow);
    return read((desk) => desk.overview({ windowMs }));
  }
  const filter = filterIn(query);
  if (place === 'count') return read((desk) => desk.count(filter));
  const list = { ...filter, ...pageIn(query) };
  return read((desk) => desk.list(list));
}

const filters = ['status', 'tool', 'owner', 'since', 'until', 'text'] as const;

/** What can be read, and what its query may name. */
const places: Readonly<Record<string, readonly string[]>> = {
  about: [],
  changes: [],
  overview: ['window'],
  count: filters,
  tasks: [...filters, 'limit', 'cursor'],
};

function ofTask(
  method: string,
  id: TaskId,
  what: string | undefined,
  path: string,
  query: URLSearchParams,
): Route {
  only(query);
  if (what === undefined || what === 'result') {
    allow(method, 'GET');
    return read(async (desk) => {
      const found = await (what === 'result' ? desk.result(id) : desk.details(id));
      if (found) return found;
      if (what === 'result' && (await desk.details(id)))
        throw new HttpRefusal(409, `Task ${id} is not done: there is no result yet.`);
      throw refusal('TASK_NOT_FOUND', id);
    });
  }
  const action = Object.hasOwn(actions, what) ? actions[what] : undefined;
  if (!action) throw nothingAt(path);
  allow(method, 'POST');
  return action(id);
}

const actions: Readonly<Record<string, (id: TaskId) => Route>> = {
  cancel: (id) =>
    act((desk, { reason }) => {
      if (reason !== undefined && typeof reason !== 'string')
        throw new BadQuery('"reason" must be a text, or left out.');
      return desk.cancel(id, reason);
    }),
  retry: (id) => act((desk) => desk.retry(id), true),
  answer: (id) =>
    act((desk, { key, response }) => {
      if (typeof key !== 'string') throw new BadQuery('"key" must be the key of an open question.');
      if (!isJsonObject(response))
        throw new BadQuery(
          '"response" must be an object, such as { "action": "accept", "content": { … } } or { "action": "decline" }.',
        );
      return desk.answer(id, key, response);
    }),
  purge: (id) =>
    act(async (desk) => {
      await desk.purge(id);
      return {};
    }),
};

function allow(method: string, allowed: 'GET' | 'POST'): void {
  if (method === allowed || (method === 'HEAD' && allowed === 'GET')) return;
  throw new HttpRefusal(405, `This is done with ${allowed}, not ${method}.`, { allow: allowed });
}

function nothingAt(path: string): HttpRefusal {
  return new HttpRefusal(
    404,
    `There is nothing at "${asSaid(path)}" in this API; docs/dashboard.md lists what there is.`,
  );
}

/** What was sent is said back so that it can be found, but it may be of any length. */
function asSaid(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text;
}

function idIn(raw: string, path: string): TaskId {
  try {
    const id = decodeURIComponent(raw);
    if (id !== '' && id.length <= 128 && !id.includes('\0')) return id;
  } catch {
    // Not encoded as it should be, so it is nobody's id.
  }
  throw nothingAt(path);
}

// --- Queries ------------------------------------------------------------------------------------------------

function pageIn(query: URLSearchParams): Pick<ListOfTasks, 'limit' | 'cursor'> {
  const limit = single(query, 'limit');
  const cursor = single(query, 'cursor');
  return {
    ...(limit !== undefined && { limit: numberIn('limit', limit) }),
    ...(cursor !== undefined && { cursor }),
  };
}

function filterIn(query: URLSearchParams): TaskFilter {
  const said = query.getAll('status');
  const unknown = said.find((one) => !(taskStatuses as readonly string[]).includes(one));
  if (unknown !== undefined)
    throw new BadQuery(
      `"status" is "${asSaid(unknown)}"; use some of: ${taskStatuses.join(', ')}, each as its own status=.`,
    );
  const texts = Object.fromEntries(
    (['tool', 'owner', 'text'] as const).flatMap((name) => {
      const text = single(query, name);
      if (text === undefined || text === '') return [];
      if (text.length > longestText || text.includes('\0'))
        throw new BadQuery(`"${name}" must be a text of at most ${longestText} characters.`);
      return [[name, text]];
    }),
  );
  const moments = Object.fromEntries(
    (['since', 'until'] as const).flatMap((name) => {
      const text = single(query, name);
      return text === undefined ? [] : [[name, numberIn(name, text)]];
    }),
  );
  return { ...texts, ...moments, ...(said.length > 0 && { statuses: [...new Set(said as TaskStatus[])] }) };
}

function only(query: URLSearchParams, ...names: readonly string[]): void {
  const unknown = [...query.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new BadQuery(
    `There is no "${asSaid(unknown)}" here; ${names.length > 0 ? `use some of: ${names.join(', ')}` : 'leave it out'}.`,
  );
}

function single(query: URLSearchParams, name: string): string | undefined {
  const said = query.getAll(name);
  if (said.length > 1) throw new BadQuery(`"${name}" is said ${said.length} times; say it once.`);
  return said[0];
}

function numberIn(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    const moment = name === 'since' || name === 'until' ? ', milliseconds since 1970' : '';
    throw new BadQuery(`"${name}" is "${asSaid(text)}"; use a whole number${moment}.`);
  }
  return Number(text);
}
