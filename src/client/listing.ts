/** What a server lists: its tasks, and what its tools say about calling them. */

import { methodNotFound } from '../dialects/json-rpc.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { MalformedAnswer, RemoteError } from '../remote-tasks/errors.ts';
import { type RemoteTask, readTask } from '../remote-tasks/remote-task.ts';
import type { Connection } from './transports/reconnecting.ts';

/** Whoever lists more pages, or so many that are empty, will not come to an end. */
const mostPages = 10_000;
const mostEmptyPages = 100;

export async function* listedTasks(connection: Connection): AsyncGenerator<RemoteTask> {
  const { dialect } = connection;
  const list = dialect?.list;
  if (!list || (dialect.name !== 'sep-1686' && !connection.declares('tasks', 'list')))
    throw new RemoteError({
      code: methodNotFound,
      message:
        'The server offers no list of tasks: 2026-07-28 has none, and others show none to callers without a token. resumeAll() knows the calls that were made from here.',
    });
  const { signal } = new AbortController();
  const read = async (page: JsonObject) => {
    const answer = await connection.request(list(page), { signal });
    if (!Array.isArray(answer.tasks)) throw new MalformedAnswer('its list of tasks is no list');
    return answer;
  };
  for await (const task of listed('its list of tasks', 'tasks', read)) yield readTask(task);
}

/** The entries of a list in pages, which must come to an end. `read` is given the params that ask for a page. */
export async function* listed(
  what: string,
  key: string,
  read: (page: JsonObject) => Promise<JsonObject>,
): AsyncGenerator<Json> {
  const seen = new Set<string>();
  let emptyPages = 0;
  for (let page = {}; ; ) {
    const { [key]: found, nextCursor: cursor } = await read(page);
    const entries = Array.isArray(found) ? found : [];
    yield* entries;
    if (cursor === undefined || cursor === null) return;
    emptyPages = entries.length === 0 ? emptyPages + 1 : 0;
    const isEndless = seen.size >= mostPages || emptyPages > mostEmptyPages;
    if (typeof cursor !== 'string' || seen.has(cursor) || isEndless)
      throw new MalformedAnswer(`${what} has no end`);
    seen.add(cursor);
    page = { cursor };
  }
}

// --- Tools --------------------------------------------------------------------------------------------------

export interface ToolHints {
  readonly taskSupport: 'required' | 'optional' | 'forbidden';
  /** Arguments that have to be repeated in headers, with the names of those. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What the tools of a server say about calling them, by their names. */
export async function toolHints(
  read: (page: JsonObject) => Promise<JsonObject>,
): Promise<ReadonlyMap<string, ToolHints>> {
  const hints = new Map<string, ToolHints>();
  for await (const tool of listed('its list of tools', 'tools', read))
    if (isJsonObject(tool) && typeof tool.name === 'string') hints.set(tool.name, hintsOf(tool));
  return hints;
}

function hintsOf({ execution, inputSchema }: JsonObject): ToolHints {
  const support = isJsonObject(execution) ? execution.taskSupport : undefined;
  const properties =
    isJsonObject(inputSchema) && isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  const headers = Object.entries(properties).flatMap(([name, property]) => {
    const header = isJsonObject(property) ? property['x-mcp-header'] : undefined;
    return typeof header === 'string' ? [[name, `mcp-param-${header.toLowerCase()}`]] : [];
  });
  return {
    taskSupport: support === 'required' || support === 'optional' ? support : 'forbidden',
    headers: Object.fromEntries(headers),
  };
}

/** Arguments as the headers that repeat them. What a header cannot carry is sent in base 64. */
export function headersFor({ headers }: ToolHints, input: JsonObject): Record<string, string> {
  const repeated = Object.entries(headers).filter(
    ([name]) => input[name] !== undefined && input[name] !== null,
  );
  return Object.fromEntries(repeated.map(([name, header]) => [header, encoded(input[name]!)]));
}

function encoded(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
