/**
 * What this process knows of rows without asking: of tasks that it holds, as it last wrote them, and of those that it
 * was offered, as they were then read. A rule may decide on it, if the statement that writes holds only where the row
 * is still the same version of itself (`xmin`); so what is stale here costs time, and never a wrong decision.
 */
import type { Json } from '../../model/json.ts';
import type { Task, TaskId } from '../../model/task.ts';

/** What must be known of a row to write it. */
export interface Held {
  readonly seq: number;
  /** The transaction that wrote this version of the row, as Postgres numbers them in rows. */
  readonly xmin: string;
  readonly job: string | null;
  /** Those of its body. */
  readonly bytes: number;
}

export interface KnownTask {
  readonly held: Held;
  readonly task: Task;
}

const most = 2_000;
/** Larger ones are read again: memory is for the many. */
const largest = 16 * 1024;

export class Known {
  readonly #tasks = new Map<TaskId, KnownTask>();
  readonly #journals = new Map<TaskId, readonly Json[]>();

  get(id: TaskId): KnownTask | undefined {
    return this.#tasks.get(id);
  }

  set(known: KnownTask): void {
    const { id } = known.task;
    if (known.held.bytes > largest) return this.delete(id);
    this.#tasks.delete(id);
    this.#tasks.set(id, known);
    if (this.#tasks.size > most) this.delete(this.#tasks.keys().next().value!);
  }

  /** The journal of a task that was offered and never ran, for whoever claims it. */
  setJournal(id: TaskId, text: string): void {
    if (this.#tasks.has(id) && text.length <= largest) this.#journals.set(id, JSON.parse(text));
  }

  /** Gives it once, and only of a task that this process has just claimed for the first time. */
  takeJournal(id: TaskId): readonly Json[] | undefined {
    const journal = this.#journals.get(id);
    if (!journal) return undefined;
    this.#journals.delete(id);
    const task = this.#tasks.get(id)?.task;
    return task?.version === 2 && task.epoch === 1 ? journal : undefined;
  }

  delete(id: TaskId): void {
    this.#tasks.delete(id);
    this.#journals.delete(id);
  }

  /** A server that is back may have lost what it had acknowledged (a fail-over), and number transactions anew. */
  clear(): void {
    this.#tasks.clear();
    this.#journals.clear();
  }
}

/** As it stands in rows: without the epochs of the counter. */
export function xminOf(xact: string): string {
  return String(BigInt(xact) & 0xffff_ffffn);
}
