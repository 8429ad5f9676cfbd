/** What a server lists: its tasks, and what its tools say about calling them. */

import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { methodNotFound } from '../protocol/json-rpc.ts';
import { MalformedAnswer, RemoteError } from '../requestor/errors.ts';
import type { Message } from '../requestor/remote-dialect.ts';
import { type RemoteTask, readTask } from '../requestor/remote-task.ts';
import type { Connection } from './connection.ts';

/** Whoever lists more pages, or so many that are empty, will not come to an end. */
const mostPages = 10_000;
const mostEmptyPages = 100;

export async function* listedTasks(connection: Connection): AsyncGenerator<RemoteTask> {
  const { dialect } = connection;
  if (!dialect?.list || (dialect.name !== 'sep-1686' && !connection.has('list')))
    throw new RemoteError({
      code: methodNotFound,
      message:
        'The server offers no list of tasks: 2026-07-28 has none, and others show none to callers without a token. resumeAll() knows the calls that were made from here.',
    });
  const { signal } = new AbortController();
  const pages = new Pages('its list of tasks');
  for (let cursor: string | undefined; ; ) {
    const page = await connection.request(dialect.list(cursor), { signal });
    if (!Array.isArray(page.tasks)) throw new MalformedAnswer('its list of tasks is no list');
    for (const task of page.tasks) yield readTask(task);
    cursor = pages.next(page.nextCursor, page.tasks.length);
    if (cursor === undefined) return;
  }
}

/** Sees to it that a list in pages comes to an end. */
export class Pages {
  readonly #what: string;
  readonly #seen = new Set<string>();
  #empty = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** The cursor of the next page, if there is one. */
  next(cursor: unknown, length: number): string | undefined {
    if (cursor === undefined || cursor === null) return undefined;
    this.#empty = length === 0 ? this.#empty + 1 : 0;
    const isEndless = this.#seen.size >= mostPages || this.#empty > mostEmptyPages;
    if (typeof cursor !== 'string' || this.#seen.has(cursor) || isEndless)
      throw new MalformedAnswer(`${this.#what} has no end`);
    this.#seen.add(cursor);
    return cursor;
  }
}

// --- Tools --------------------------------------------------------------------------------------------------

export interface ToolHints {
  readonly taskSupport: 'required' | 'optional' | 'forbidden';
  /** Arguments that have to be repeated in headers, with the names of those. */
  readonly headers: Readonly<Record<string, string>>;
}

const unknown: ToolHints = { taskSupport: 'forbidden', headers: {} };

export class ToolList {
  readonly #request: (message: Message) => Promise<JsonObject>;
  #hints: Promise<ReadonlyMap<string, ToolHints>> | undefined;

  constructor(request: (message: Message) => Promise<JsonObject>) {
    this.#request = request;
  }

  /** The list has changed, or another server answers now. */
  forget(): void {
    this.#hints = undefined;
  }

  async hints(tool: string): Promise<ToolHints> {
    this.#hints ??= this.#read();
    const known = this.#hints;
    known.catch(() => {
      if (this.#hints === known) this.#hints = undefined;
    });
    return (await known).get(tool) ?? unknown;
  }

  async #read(): Promise<ReadonlyMap<string, ToolHints>> {
    const hints = new Map<string, ToolHints>();
    const pages = new Pages('its list of tools');
    for (let cursor: string | undefined; ; ) {
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.#request({ method: 'tools/list', params });
      const tools = Array.isArray(page.tools) ? page.tools : [];
      for (const tool of tools)
        if (isJsonObject(tool) && typeof tool.name === 'string') hints.set(tool.name, hintsOf(tool));
      cursor = pages.next(page.nextCursor, tools.length);
      if (cursor === undefined) return hints;
    }
  }
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
