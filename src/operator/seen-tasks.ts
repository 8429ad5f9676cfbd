/** Tasks as they were last read for somebody, so that many viewers of the same news read each of them once. */
import { isDamaged } from '../engine/survey.ts';
import type { Tasks } from '../engine/tasks.ts';
import { redactTask } from '../model/redaction.ts';
import type { TaskId } from '../model/task.ts';
import type { TaskSummary } from './api.ts';
import { damagedIn, damagedSummary } from './damaged.ts';
import { summaryOf } from './summary.ts';

/** Rows without results: a few megabytes. */
const mostKept = 5_000;

interface Look {
  /** It was begun after the note of this number was heard. */
  readonly number: number;
  readonly task: Promise<TaskSummary | undefined>;
}

export class SeenTasks {
  readonly #tasks: Tasks;
  readonly #looks = new Map<TaskId, Look>();

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
  }

  /** As it is now, or as it was at some moment after the note of that number. */
  at(id: TaskId, number: number): Promise<TaskSummary | undefined> {
    const known = this.#looks.get(id);
    if (known && known.number >= number) return known.task;
    const task = this.#read(id);
    task.catch(() => this.#looks.delete(id));
    this.#looks.delete(id);
    this.#looks.set(id, { number, task });
    if (this.#looks.size > mostKept) this.#looks.delete(this.#looks.keys().next().value!);
    return task;
  }

  /** As it was when it was last read; undefined if nobody remembers it. */
  async last(id: TaskId): Promise<TaskSummary | undefined> {
    return this.#looks.get(id)?.task;
  }

  async #read(id: TaskId): Promise<TaskSummary | undefined> {
    const task = await this.#tasks
      .get(id)
      .catch(async (error: unknown) => damagedIn(await this.#tasks.opened(), error));
    if (!task) return undefined;
    if (isDamaged(task)) return damagedSummary(task);
    return summaryOf(redactTask(task, this.#tasks.secretsOf(task)));
  }
}
