/** A process that shares a database with the test: it does what it is told, says what was acknowledged, and is killed. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { claim, create, record, report } from '../../../src/engine/rules/transitions.ts';
import type { Task } from '../../../src/model/task.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/sqlite.ts';
import { aTask, type CrashPoint, killAt } from '../../../src/store-testing.ts';
import { obey, say } from '../../kit/child.ts';
import { listed } from '../../kit/listed.ts';
import { seededRandom } from '../../kit/random.ts';
import type { Acknowledged } from './other.ts';

const { file }: { readonly file: string } = JSON.parse(process.argv[2]!);
const holder = { name: 'other', leaseMs: 3_600_000 };

let database: SqliteDatabase;
const readers: DatabaseSync[] = [];
const entries = new Map<string, number>();

const acts = {
  async open(): Promise<void> {
    database = await openSqlite(file);
  },

  /** A second store on the same file: opening it brings the log into the database file. */
  async openAgain(): Promise<void> {
    await openSqlite(file);
  },

  /** A reader that stays: what is written from here on cannot be brought into the database file. */
  async read(): Promise<void> {
    const reader = new DatabaseSync(file, { readOnly: true });
    reader.exec('begin');
    reader.prepare('select count(*) from tasks').get();
    readers.push(reader);
  },

  async close(): Promise<void> {
    await database.close();
  },

  async make(bytes: number): Promise<void> {
    await make(bytes);
  },

  /** So many changes, one transaction each: tasks are made and advanced, leases renewed. */
  async work(changes: number, seed: number): Promise<void> {
    const random = seededRandom(seed);
    const tasks: Task[] = [];
    for (let change = 0; change < changes; change++) {
      const isNew = random.chance(0.5) || tasks.length === 0;
      const index = isNew ? tasks.length : random.between(0, tasks.length - 1);
      tasks[index] = isNew
        ? await make(random.between(10, 400))
        : await advance(tasks[index]!, random.chance(0.2));
    }
  },

  async write(): Promise<void> {
    for (;;) await Promise.all(Array.from({ length: 8 }, () => make(100)));
  },

  /** Transactions that write nothing, and one that renews a lease. */
  async idle(): Promise<void> {
    // There is nothing to decide on.
    await database.store.update('task', 'unknown', (task) => claim(task, holder, 0)).catch(() => {});
    await database.queue.renew([{ taskId: 'unknown', epoch: 1 }], 0);
    const [id] = entries.keys();
    const { epoch } = (await database.store.get(id!))!;
    await database.queue.renew([{ taskId: id!, epoch }], 60_000);
  },

  /** Opens, works, looks around and closes, again and again, and some times on a slow machine too. */
  async comeAndGo(ms: number, seed: number): Promise<number> {
    let rounds = 0;
    for (const end = Date.now() + ms; Date.now() < end || rounds < 4; rounds++) {
      await acts.open();
      await acts.work(6, seed + rounds);
      await lookAround();
      await acts.close();
    }
    return rounds;
  },

  async backUp(target: string): Promise<void> {
    await database.backup(target);
  },

  async killAt(place: CrashPoint): Promise<void> {
    killAt(place);
  },

  /** Holds the database locked, as a database browser would, and lets go after a while. */
  async lock(how: 'immediate' | 'exclusive', ms: number): Promise<void> {
    const browser = new DatabaseSync(file);
    browser.exec(`begin ${how}`);
    setTimeout(() => browser.exec('rollback'), ms);
  },
};

export type Acts = typeof acts;

async function make(bytes: number): Promise<Task> {
  const request = aTask({ arguments: { text: 'x'.repeat(bytes) } });
  const { task } = await database.store.create(undefined, () => create(undefined, request, Date.now()));
  return acknowledged(task, 1);
}

async function advance(task: Task, renew: boolean): Promise<Task> {
  const claimed = { taskId: task.id, epoch: task.epoch };
  if (renew) await database.queue.renew([claimed], 60_000);
  const change = await database.store.update('task', task.id, (task) => {
    if (task.epoch === 0) return claim(task, holder, Date.now());
    if (task.version % 2 === 0) return record(task, claimed, [{ step: task.version }], Date.now());
    return report(task, claimed, { message: `At version ${task.version}` }, Date.now());
  });
  const [write] = change.writes;
  return acknowledged(change.task, entries.get(task.id)! + (write!.journal?.length ?? 0));
}

function acknowledged(task: Task, journal: number): Task {
  entries.set(task.id, journal);
  say({ acknowledged: { task, entries: journal } satisfies Acknowledged });
  return task;
}

/** Everything that a look-up checks while the other processes write. */
async function lookAround(): Promise<void> {
  for (const id of [...entries.keys()].slice(-3)) {
    await database.store.journal(id);
    await database.store.family(id);
    await database.store.get(`${id}x`);
    await pause(0);
  }
  for await (const _ of listed(database.store, { owner: 'alice', limit: 20 })) await pause(0);
}

obey(acts);
