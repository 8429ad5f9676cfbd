/** For the cross-check: records the change feed and the final tasks of the store in a process that is never killed. */
import { setTimeout as pause } from 'node:timers/promises';
import { batchIn } from '../../../src/engine/replay/journal.ts';
import type { Database, TaskId } from '../../../src/index.ts';
import { type HistoryFile, moment } from './history.ts';

/** How long the feed may lag after the last task has ended. */
const maxLagMs = 5_000;

export class Watch {
  readonly stop: () => void;
  readonly #database: Database;
  readonly #history: HistoryFile;
  readonly #versions = new Map<TaskId, number>();

  constructor(database: Database, history: HistoryFile) {
    this.#database = database;
    this.#history = history;
    this.stop = database.store.subscribe(({ taskId: task, version, events }) => {
      // A clock jump can end the retention of tasks from an earlier part of the run.
      const isForeign = !this.#versions.has(task) && events.some(({ type }) => type === 'removed');
      if (isForeign) return;
      this.#versions.set(task, version);
      history.add({ what: 'commit', task, version, at: moment() });
    });
  }

  /** Records all tasks as stored at the end, after the feed has caught up. */
  async conclude(): Promise<void> {
    const { store } = this.#database;
    const started = moment();
    for (const id of this.#versions.keys()) {
      const task = await store.get(id);
      if (!task) continue;
      while (this.#versions.get(id) !== task.version && moment() - started < maxLagMs) await pause(50);
      const [, ...batches] = await store.journal(id);
      const settled = batches.flatMap((batch) => batchIn(batch).entries.map(({ call }) => call));
      this.#history.add({ what: 'stored', task: id, version: task.version, settled });
    }
  }
}
