/** Database files with a given number of stored tasks, and random picks from them. */
import { closeSync, copyFileSync, fsyncSync, openSync } from 'node:fs';
import type { StatementSync } from 'node:sqlite';
import type { Task, TaskId } from '../src/model/task.ts';
import { openSqlite } from '../src/sqlite.ts';
import { taskIn } from '../src/stores/shared/task-texts.ts';
import { type Connection, connect } from '../src/stores/sqlite/driver.ts';
import { bind, insertCommit, insertTask } from './bare.ts';
import { type Kind, kindOf, kindsInCycle, lifeOf, ownerOf, placeInCycle } from './workload.ts';

/** Fills a new file with `size` tasks, their rows numbered from 1. Nothing here is timed, so nothing is synced. */
export async function fill(file: string, size: number, owner = ownerOf): Promise<void> {
  await (await openSqlite(file)).close();
  const db = connect(file);
  db.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -1048576; begin');
  const tasks = db.prepare(insertTask);
  const commits = db.prepare(insertCommit);
  const now = Date.now();
  for (let seq = 1; seq <= size; seq++) {
    const life = lifeOf(kindOf(seq), owner(seq), now - (size - seq)).map(bind);
    const last = life.at(-1)!;
    tasks.run(...last.state, ...last.place);
    for (const { commit } of life) commits.run(seq, ...commit);
  }
  db.exec('commit');
  db.close();
  flush(file);
}

export function copy(from: string, to: string): void {
  copyFileSync(from, to);
  flush(to);
}

/** Flushes pending writes of the kernel, which would otherwise slow down the first timed commits. */
function flush(file: string): void {
  const descriptor = openSync(file, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** The tasks of a filled file, picked at random through a connection of its own. */
export class StoredTasks {
  readonly size: number;
  readonly #db: Connection;
  readonly #pristine: string;
  readonly #idAt: StatementSync;
  readonly #bodyOf: StatementSync;
  readonly #answered = new Set<TaskId>();
  #added = 0;

  constructor(file: string, size: number, pristine: string) {
    this.size = size;
    this.#pristine = pristine;
    this.#db = connect(file, { timeout: 1_000 });
    this.#db.exec('pragma synchronous = off');
    this.#idAt = this.#db.prepare('select id from tasks where seq = ?');
    this.#bodyOf = this.#db.prepare('select body from tasks where id = ?');
  }

  anyId(): TaskId {
    return this.#id(1 + Math.floor(Math.random() * this.size));
  }

  /** Each call returns another task of these kinds, in random order. After the last one they start over. */
  inTurn(kinds: readonly Kind[]): () => TaskId {
    const seqs = shuffled(
      Array.from({ length: this.size }, (_, index) => index + 1).filter((seq) => kinds.includes(kindOf(seq))),
    );
    let next = 0;
    return () => this.#id(seqs[next++ % seqs.length]!);
  }

  /** Different tasks, each claimed by a worker. */
  claimedIds(count: number): TaskId[] {
    return this.#different('claimed', count, new Set());
  }

  /** Tasks with an open question; each is returned only once. */
  waitingIds(count: number): TaskId[] {
    if (this.#answered.size + count > this.size / kindsInCycle) this.#renew();
    return this.#different('waiting', count, this.#answered);
  }

  task(id: TaskId): Task {
    return taskIn((this.#bodyOf.get(id) as { body: string }).body);
  }

  /** Call before tasks are created, so that their number stays close to the nominal size. */
  expectMore(count: number): void {
    if (this.#added + count > this.size / 10) this.#renew();
    this.#added += count;
  }

  close(): void {
    this.#db.close();
  }

  /** Restores every task. The newest commit stays, because stores rely on commit numbers that never decrease. */
  #renew(): void {
    this.#db.prepare('attach ? as pristine').run(this.#pristine);
    this.#db.exec(`
      begin immediate;
      delete from tasks;
      insert into tasks select * from pristine.tasks;
      delete from commits
        where seq > (select max(seq) from pristine.commits) and seq < (select max(seq) from commits);
      commit;
      detach pristine;
    `);
    this.#answered.clear();
    this.#added = 0;
  }

  #different(kind: Kind, count: number, taken: Set<TaskId>): TaskId[] {
    const ids: TaskId[] = [];
    while (ids.length < count) {
      const cycle = Math.floor((Math.random() * this.size) / kindsInCycle);
      const id = this.#id(cycle * kindsInCycle + placeInCycle(kind));
      if (taken.has(id)) continue;
      taken.add(id);
      ids.push(id);
    }
    return ids;
  }

  #id(seq: number): TaskId {
    return (this.#idAt.get(seq) as { id: TaskId }).id;
  }
}

/** Fisher-Yates, in place. */
export function shuffled<T>(items: T[]): T[] {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
  return items;
}
