/** Roots as they were last read for somebody, so that many viewers of the same news read each of them once. */
import type { Tasks } from '../engine/tasks.ts';
import { redactTask } from '../model/redaction.ts';
import type { TaskId } from '../model/task.ts';
import type { TaskSummary } from './api.ts';
import { summaryOf } from './summary.ts';

/** Rows without results: a few megabytes. */
const mostKept = 5_000;

export interface SeenRoot {
  readonly summary: TaskSummary;
  readonly isPublished: boolean;
}

interface Look {
  /** It was begun after the note of this number was heard. */
  readonly number: number;
  readonly root: Promise<SeenRoot | undefined>;
}

export class SeenRoots {
  readonly #tasks: Tasks;
  readonly #looks = new Map<TaskId, Look>();

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
  }

  /** As it is now, or as it was at some moment after the note of that number. */
  at(rootId: TaskId, number: number): Promise<SeenRoot | undefined> {
    const known = this.#looks.get(rootId);
    if (known && known.number >= number) return known.root;
    const root = this.#read(rootId);
    root.catch(() => this.#looks.delete(rootId));
    this.#looks.delete(rootId);
    this.#looks.set(rootId, { number, root });
    if (this.#looks.size > mostKept) this.#looks.delete(this.#looks.keys().next().value!);
    return root;
  }

  /** As it was when it was last read; undefined if nobody remembers it. */
  async last(rootId: TaskId): Promise<SeenRoot | undefined> {
    return this.#looks.get(rootId)?.root;
  }

  async #read(rootId: TaskId): Promise<SeenRoot | undefined> {
    const task = await this.#tasks.get(rootId);
    if (!task) return undefined;
    const summary = summaryOf(redactTask(task, this.#tasks.secretsOf(task)));
    return { summary, isPublished: !task.unpublished };
  }
}
