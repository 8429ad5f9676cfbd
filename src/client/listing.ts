/** Reads the lists of a server: tasks, and hints of tools on how to call them. */

import { methodNotFound } from '../dialects/json-rpc.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { MalformedAnswer, RemoteError } from '../remote-tasks/errors.ts';
import { type RemoteTask, readTask } from '../remote-tasks/remote-task.ts';
import type { Connection } from './transports/reconnecting.ts';

/** A list with more pages, or more empty pages in a row, is considered endless and rejected. */
const maxPages = 10_000;
const maxEmptyPages = 100;

export async function* listedTasks(connection: Connection): AsyncGenerator<RemoteTask> {
  const { dialect } = connection;
  const list = dialect?.list;
  if (!list || (dialect.name !== 'sep-1686' && !connection.declares('tasks', 'list')))
    throw new RemoteError({
      code: methodNotFound,
      message:
        'The server has no list of tasks: 2026-07-28 has none, and other revisions need a token. Use resumeAll() to resume the calls of this client.',
    });
  const { signal } = new AbortController();
  const read = async (page: JsonObject) => {
    const answer = await connection.request(list(page), { signal });
    if (!Array.isArray(answer.tasks)) throw new MalformedAnswer('its list of tasks is not an array');
    return answer;
  };
  for await (const task of listed('its list of tasks', 'tasks', read)) yield readTask(task);
}

/** The entries of a paginated list. Throws if the list is endless. `read` gets the params of the next page. */
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
    const isEndless = seen.size >= maxPages || emptyPages > maxEmptyPages;
    if (typeof cursor !== 'string' || seen.has(cursor) || isEndless)
      throw new MalformedAnswer(`${what} has no end`);
    seen.add(cursor);
    page = { cursor };
  }
}

// --- Tools --------------------------------------------------------------------------------------------------

export interface ToolHints {
  /** Whether calls of the tool can request a task (2025-11-25). */
  readonly taskSupport: 'required' | 'optional' | 'forbidden';
  /** The names of headers that repeat arguments, by argument. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Hints of a server's tools, by name. */
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

/** The headers that repeat arguments. Values that are not valid in a header are sent as base64. */
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
