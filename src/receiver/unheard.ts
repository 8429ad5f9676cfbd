/**
 * Questions of whose tasks the server has not shown yet that it knows them: it may have died, or our answer may not have
 * got back to it. If it puts the same question again, for the same task of its own, it gets the same task, and nobody
 * is asked twice.
 */
import { digestOf } from '../model/id.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { TaskId } from '../model/task.ts';
import { relatedTaskKey } from '../protocol/dialects/2025-11-25/names.ts';

/** More than a server has open at a time. */
const most = 10_000;

export class Unheard {
  readonly #tasks = new Map<string, TaskId>();

  /** What tells one question from another; undefined if it belongs to no task. */
  async keyOf(method: string, { _meta, task: _, ...params }: JsonObject): Promise<string | undefined> {
    const related = isJsonObject(_meta) ? _meta[relatedTaskKey] : undefined;
    return isJsonObject(related) ? digestOf({ method, params, related }) : undefined;
  }

  get(key: string | undefined): TaskId | undefined {
    return key === undefined ? undefined : this.#tasks.get(key);
  }

  /** Its id is on its way to the server. */
  add(key: string | undefined, id: TaskId): void {
    if (key !== undefined && this.#tasks.size < most) this.#tasks.set(key, id);
  }

  /** The server asks about it, and so has its id: the same question would be another one. */
  heardOf(id: unknown): void {
    for (const [key, unheard] of this.#tasks) if (unheard === id) this.#tasks.delete(key);
  }
}
