/** Maps a request below `/operator/api` to a method of the operator API, and validates its path, query and body. */

import { refusal } from '../../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../../model/json.ts';
import { type TaskStatus, taskStatuses } from '../../../model/status.ts';
import type { TaskId } from '../../../model/task.ts';
import type { ListOfTasks, OperatorApi } from '../../../operator/api.ts';
import { BadQuery } from '../../../operator/operator.ts';
import type { TaskFilter } from '../../../ports/query.ts';
import { HttpRefusal } from '../body.ts';

export type Route =
  | { readonly kind: 'read'; readonly answer: (operator: OperatorApi) => Promise<unknown> }
  | { readonly kind: 'changes' }
  | {
      readonly kind: 'act';
      /** True if the action creates a task, and so counts as a call towards its owner's limits. */
      readonly createsTask: boolean;
      readonly act: (operator: OperatorApi, body: JsonObject) => Promise<unknown>;
    };

/** One hour in milliseconds, as a query parameter. */
const defaultWindow = '3600000';
/** The maximum length of a text in a query, in characters. */
const maxTextLength = 500;

const read = (answer: (operator: OperatorApi) => Promise<unknown>): Route => ({ kind: 'read', answer });
const act = (
  carryOut: (operator: OperatorApi, body: JsonObject) => Promise<unknown>,
  createsTask = false,
): Route => ({
  kind: 'act',
  createsTask,
  act: carryOut,
});

/** The route of a request; `path` is relative to the API's own. Refuses unknown paths. */
export function routeOf(method: string, path: string, query: URLSearchParams): Route {
  const [, section = '', rawId, what, ...rest] = path.split('/');
  if (rest.length > 0) throw unknownPath(path);
  if (section === 'tasks' && rawId !== undefined) return ofTask(method, idIn(rawId, path), what, path, query);
  const names = rawId === undefined && Object.hasOwn(sections, section) ? sections[section] : undefined;
  if (!names) throw unknownPath(path);
  allow(method, 'GET');
  only(query, ...names);
  if (section === 'changes') return { kind: 'changes' };
  if (section === 'about') return read((operator) => operator.about());
  if (section === 'overview') {
    const windowMs = numberIn('window', single(query, 'window') ?? defaultWindow);
    return read((operator) => operator.overview({ windowMs }));
  }
  const filter = filterIn(query);
  if (section === 'count') return read((operator) => operator.count(filter));
  const list = { ...filter, ...pageIn(query) };
  return read((operator) => operator.list(list));
}

const filters = ['status', 'tool', 'owner', 'since', 'until', 'text'] as const;

/** The readable sections, each with the parameters of its query. */
const sections: Readonly<Record<string, readonly string[]>> = {
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
    return read(async (operator) => {
      const found = await (what === 'result' ? operator.result(id) : operator.details(id));
      if (found) return found;
      if (what === 'result' && (await operator.details(id)))
        throw new HttpRefusal(409, `Task ${id} is not done: it has no result yet.`);
      throw refusal('TASK_NOT_FOUND', id);
    });
  }
  const action = Object.hasOwn(actions, what) ? actions[what] : undefined;
  if (!action) throw unknownPath(path);
  allow(method, 'POST');
  return action(id);
}

/** Creates the routes of `POST /tasks/ID/ACTION`, by action. */
const actions: Readonly<Record<string, (id: TaskId) => Route>> = {
  cancel: (id) =>
    act((operator, { reason }) => {
      if (reason !== undefined && typeof reason !== 'string')
        throw new BadQuery('"reason" must be a string, or omitted.');
      return operator.cancel(id, reason);
    }),
  retry: (id) => act((operator) => operator.retry(id), true),
  answer: (id) =>
    act((operator, { key, response }) => {
      if (typeof key !== 'string') throw new BadQuery('"key" must be the key of an open question.');
      if (!isJsonObject(response))
        throw new BadQuery(
          '"response" must be an object, such as { "action": "accept", "content": { … } } or { "action": "decline" }.',
        );
      return operator.answer(id, key, response);
    }),
  purge: (id) =>
    act(async (operator) => {
      await operator.purge(id);
      return {};
    }),
};

/** Refuses other HTTP methods. HEAD is allowed wherever GET is. */
function allow(method: string, allowed: 'GET' | 'POST'): void {
  if (method === allowed || (method === 'HEAD' && allowed === 'GET')) return;
  throw new HttpRefusal(405, `Use ${allowed} here, not ${method}.`, { allow: allowed });
}

function unknownPath(path: string): HttpRefusal {
  return new HttpRefusal(
    404,
    `Unknown path "${shortened(path)}" in this API. See docs/dashboard.md for the paths.`,
  );
}

/** Shortens a text of the caller for an error message. */
function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text;
}

function idIn(raw: string, path: string): TaskId {
  try {
    const id = decodeURIComponent(raw);
    if (id !== '' && id.length <= 128 && !id.includes('\0')) return id;
  } catch {
    // Invalid encoding: not an id.
  }
  throw unknownPath(path);
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
  const statuses = query.getAll('status');
  const unknown = statuses.find((one) => !(taskStatuses as readonly string[]).includes(one));
  if (unknown !== undefined)
    throw new BadQuery(
      `Unknown "status": "${shortened(unknown)}". Use one or more of: ${taskStatuses.join(', ')}, each as its own status=.`,
    );
  const texts = Object.fromEntries(
    (['tool', 'owner', 'text'] as const).flatMap((name) => {
      const text = single(query, name);
      if (text === undefined || text === '') return [];
      if (text.length > maxTextLength || text.includes('\0'))
        throw new BadQuery(`"${name}" must be a string of at most ${maxTextLength} characters.`);
      return [[name, text]];
    }),
  );
  const times = Object.fromEntries(
    (['since', 'until'] as const).flatMap((name) => {
      const text = single(query, name);
      return text === undefined ? [] : [[name, numberIn(name, text)]];
    }),
  );
  return {
    ...texts,
    ...times,
    ...(statuses.length > 0 && { statuses: [...new Set(statuses as TaskStatus[])] }),
  };
}

/** Refuses query parameters with other names. */
function only(query: URLSearchParams, ...names: readonly string[]): void {
  const unknown = [...query.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new BadQuery(
    `Unknown parameter "${shortened(unknown)}". ${names.length > 0 ? `Use one or more of: ${names.join(', ')}` : 'Remove it'}.`,
  );
}

/** The value of a parameter that may occur only once; undefined if it is missing. */
function single(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw new BadQuery(`"${name}" occurs ${values.length} times; use it once.`);
  return values[0];
}

/** Parses a whole number. With at most 15 digits it is exact. */
function numberIn(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    const unit = name === 'since' || name === 'until' ? ', milliseconds since 1970' : '';
    throw new BadQuery(`"${name}" is "${shortened(text)}"; use a whole number${unit}.`);
  }
  return Number(text);
}
