/** An operator API with fixed tasks, for pictures. */

import { HoldfastError } from '../../src/model/errors.ts';
import type { Outcome } from '../../src/model/outcome.ts';
import type {
  About,
  ChangeMessage,
  ListOfTasks,
  OperatorApi,
  OverviewReport,
  TaskDetails,
  TaskPage,
  TaskSummary,
} from '../../src/operator/api.ts';
import type { TaskCount, TaskFilter } from '../../src/ports/query.ts';

export interface World {
  readonly now: number;
  /** The tasks of the list, newest first. */
  readonly tasks: readonly TaskSummary[];
  readonly details: readonly TaskDetails[];
  overview(windowMs: number): OverviewReport;
}

class ReadOnly extends HoldfastError {
  constructor() {
    super('COMMAND_FAILED', 'These tasks are read-only.');
  }
}

export class FixedOperatorApi implements OperatorApi {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async about(): Promise<About> {
    const { now, tasks } = this.#world;
    const tools = [...new Set(tasks.map(({ tool }) => tool))].toSorted();
    return { version: '0.1.0', now, tools, audit: true };
  }

  async list({ limit = 50, cursor, ...filter }: ListOfTasks): Promise<TaskPage> {
    const found = this.#matching(filter);
    const from = cursor === undefined ? 0 : Number(cursor);
    const tasks = found.slice(from, from + limit);
    const end = from + tasks.length;
    return { tasks, ...(end < found.length && { nextCursor: String(end) }) };
  }

  async count(filter: TaskFilter): Promise<TaskCount> {
    return { count: this.#matching(filter).length, isMore: false };
  }

  async overview({ windowMs }: { readonly windowMs: number }): Promise<OverviewReport> {
    return this.#world.overview(windowMs);
  }

  async details(id: string): Promise<TaskDetails | undefined> {
    return this.#world.details.find(({ task }) => task.id === id);
  }

  async result(id: string): Promise<Outcome | undefined> {
    return (await this.details(id))?.outcome;
  }

  cancel(): Promise<never> {
    return Promise.reject(new ReadOnly());
  }

  retry(): Promise<never> {
    return Promise.reject(new ReadOnly());
  }

  answer(): Promise<never> {
    return Promise.reject(new ReadOnly());
  }

  purge(): Promise<never> {
    return Promise.reject(new ReadOnly());
  }

  /** Opens the stream and sends no changes. */
  async *changes({ signal }: { readonly signal: AbortSignal }): AsyncGenerator<ChangeMessage> {
    yield { type: 'changes', id: '1', tasks: [], subtasks: [], removed: [] };
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }

  #matching({ owner, tool, statuses, since, until, text }: TaskFilter): readonly TaskSummary[] {
    const wanted = text?.toLowerCase();
    return this.#world.tasks.filter(
      (task) =>
        (owner === undefined || task.owner === owner) &&
        (tool === undefined || task.tool === tool) &&
        (statuses === undefined || statuses.includes(task.status)) &&
        task.createdAt >= (since ?? Number.NEGATIVE_INFINITY) &&
        task.createdAt < (until ?? Number.POSITIVE_INFINITY) &&
        (wanted === undefined ||
          [task.id, task.tool, task.owner, task.statusMessage ?? ''].some((part) =>
            part.toLowerCase().includes(wanted),
          )),
    );
  }
}
