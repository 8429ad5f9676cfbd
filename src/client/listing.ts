/** The tasks that a server lists. */
import { methodNotFound } from '../protocol/json-rpc.ts';
import { MalformedAnswer, RemoteError } from '../requestor/errors.ts';
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
