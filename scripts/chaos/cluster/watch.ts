/** The cross-check: what the port of the store tells of the same run, to a process that nobody kills. */
import { setTimeout as pause } from 'node:timers/promises';
import { batchIn } from '../../../src/engine/replay/journal.ts';
import type { Database, TaskId } from '../../../src/index.ts';
import { type HistoryFile, moment } from './history.ts';

/** How long the feed may be behind when everything has ended. */
const behindMs = 5_000;

export class Watch {
  readonly stop: () => void;
  readonly #database: Database;
  readonly #history: HistoryFile;
  readonly #versions = new Map<TaskId, number>();

  constructor(database: Database, history: HistoryFile) {
    this.#database = database;
    this.#history = history;
    this.stop = database.store.subscribe(({ taskId: task, version }) => {
      this.#versions.set(task, version);
      history.add({ what: 'commit', task, version, at: moment() });
    });
  }

  /** Writes down everything as it is stored in the end, when the feed has told of it all. */
  async conclude(): Promise<void> {
    const { store } = this.#database;
    const started = moment();
    for (const id of this.#versions.keys()) {
      const task = await store.get(id);
      if (!task) continue;
      while (this.#versions.get(id) !== task.version && moment() - started < behindMs) await pause(50);
      const [, ...batches] = await store.journal(id);
      const settled = batches.flatMap((batch) => batchIn(batch).entries.map(({ call }) => call));
      this.#history.add({ what: 'stored', task: id, version: task.version, settled });
    }
  }
}
