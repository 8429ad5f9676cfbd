import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { create } from '../../../src/engine/rules/transitions.ts';
import type { Task, TaskId } from '../../../src/model/task.ts';
import type { Store } from '../../../src/ports/store.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { aTask } from '../../../src/store-testing.ts';
import { configure, connect } from '../../../src/stores/sqlite/driver.ts';
import { Vault } from '../../../src/stores/sqlite/encryption/vault.ts';
import { transactionCounter } from '../../../src/stores/sqlite/file/transaction-counter.ts';
import { migrate } from '../../../src/stores/sqlite/schema.ts';
import { GroupCommit } from '../../../src/stores/sqlite/tasks/group-commit.ts';
import { Rows } from '../../../src/stores/sqlite/tasks/rows.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { withCode } from '../../kit/with-code.ts';
import { readSnapshot } from '../chaos/snapshot.ts';
import { canMount, smallDisk } from './disk.ts';
import { refusalOf } from './files.ts';
import { lookFor, Other } from './other.ts';

describe.skipIf(!canMount)('on a full disk', () => {
  test('the error names the file and the remedy', async () => {
    const { store, file } = await openOnSmallDisk();
    const { failure } = await fillWithTasks(store);
    expect(failure).toMatchObject({ code: 'STORE_FULL' });
    expect(failure.message).toContain(file);
    expect(failure.message).toContain('Free some space');
    await store.close();
  });

  test('every task acknowledged before is readable, in the same process and after it is opened again', async () => {
    const { store, file } = await openOnSmallDisk();
    const { made } = await fillWithTasks(store);
    expect(made.length).toBeGreaterThan(20);
    expect(await idsIn(store)).toEqual(made);
    for (const id of made) expect(await store.journal(id)).toHaveLength(1);
    await store.close();

    const again = await openSqlite(file);
    expect(await idsIn(again.store)).toEqual(made);
    for (const id of made) expect(await again.store.journal(id)).toHaveLength(1);
    await again.close();
  });

  test('a store that is closed lets go of the file, although its log cannot be brought into it', async () => {
    const { store, file, disk } = await openOnSmallDisk();
    const { made } = await fillWithTasks(store);
    await store.close();
    const browser = new DatabaseSync(file, { timeout: 0 });
    disk.free();
    browser.exec('pragma locking_mode = exclusive; begin exclusive; rollback');
    browser.close();
    const again = await openSqlite(file);
    expect(await idsIn(again.store)).toEqual(made);
    await again.close();
  });

  test('the same store works again as soon as there is space', async () => {
    const { store, disk } = await openOnSmallDisk();
    const { made } = await fillWithTasks(store);
    disk.free();
    const more = await makeTasks(store, 5);
    expect(await idsIn(store)).toEqual([...made, ...more]);
    await store.close();
  });

  test('of tasks made at the same time each is acknowledged and there, or refused and not there', async () => {
    const { store, file, disk } = await openOnSmallDisk(512_000);
    const made: TaskId[] = [];
    const refused: TaskId[] = [];
    for (let round = 0; round < 12; round++) {
      const requests = Array.from({ length: 64 }, (_, i) => request(i % 8 === 0 ? 3_000 : 20));
      const results = await Promise.allSettled(requests.map((one) => make(store, one)));
      for (const [i, result] of results.entries()) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'STORE_FULL' });
        (result.status === 'fulfilled' ? made : refused).push(requests[i]!.id);
      }
    }
    expect(Math.min(made.length, refused.length)).toBeGreaterThanOrEqual(64);
    expect(await idsIn(store)).toEqual(made);
    for (const id of refused) expect(await store.get(id)).toBeUndefined();
    await store.close();
    disk.free();

    const again = await openSqlite(file);
    expect(await idsIn(again.store)).toEqual(made);
    for (const id of refused) expect(await again.store.get(id)).toBeUndefined();
    await again.close();
    expect(readSnapshot(file).integrity).toEqual([]);
  });

  test('a commit that fits in the space its log already has is acknowledged', async () => {
    const { folder, ...disk } = smallDisk();
    const { store } = await openSqlite(join(folder, 'tasks.db'));
    disk.fill();
    const [id] = await makeTasks(store, 1, 20);
    expect(await store.get(id!)).toBeDefined();
    await store.close();
  });

  test('what was acknowledged on it is missed when the log is lost', async () => {
    const disk = smallDisk();
    const other = new Other(join(disk.folder, 'tasks.db'));
    await other.do('open');
    disk.fill();
    await other.do('make', 20);
    await other.kill();
    rmSync(join(disk.folder, 'tasks.db-wal'));
    disk.free();
    expect((await refusalOf(join(disk.folder, 'tasks.db'))).message).toContain(
      'acknowledged changes are missing',
    );
  });

  test('what could not be written is not missed after a crash', async () => {
    const disk = smallDisk();
    const file = join(disk.folder, 'tasks.db');
    const other = new Other(file);
    await other.do('open');
    await other.do('work', 10, 1);
    disk.fill(20_000);
    await expect(other.do('make', 100_000)).rejects.toMatchObject({ code: 'STORE_FULL' });
    disk.free();
    await other.do('idle');
    await other.kill();

    const { store } = await openSqlite(file);
    expect(await lookFor(other.acknowledged, store)).toEqual({ lost: [], reported: [] });
    await store.close();
  });

  test('a database that cannot be made leaves nothing that stands in the way later', async () => {
    const disk = smallDisk();
    const file = join(disk.folder, 'new', 'tasks.db');
    disk.fill(8_192);
    const failure = await refusalOf(file);
    expect(failure).toMatchObject({ code: 'STORE_FULL' });
    expect(failure.message).toContain(file);
    disk.free();
    const { store } = await openSqlite(file);
    expect(await makeTasks(store, 1)).toHaveLength(1);
    await store.close();
  });

  test('a back-up that does not fit says so and leaves nothing behind', async () => {
    const { store, ...database } = await openSqlite(temporaryFile());
    await makeTasks(store, 100);
    const { folder } = smallDisk(64);
    const target = join(folder, 'copy.db');
    const failure = await database.backup(target).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: 'STORE_FULL' });
    expect((failure as Error).message).toContain(target);
    await store.close();
  });
});

test('a change that does not fit undoes the whole transaction, and the next one works', async () => {
  const db = connect(temporaryFile());
  configure(db);
  migrate(db, 'tasks.db');
  const rows = new Rows(db, new Vault(db, undefined, 'tasks.db'));
  const commands = new GroupCommit(db, 'tasks.db', {
    onBegin: () => {},
    countTransaction: transactionCounter(db),
    onCommitted: () => {},
  });
  const insert = (bytes: number) => {
    const one = request(bytes);
    return commands.submit(() => {
      rows.begin();
      const verdict = create(undefined, one, Date.now());
      if (verdict instanceof Error) throw verdict;
      rows.apply(verdict, Date.now());
      return one.id;
    });
  };
  await insert(20);
  db.exec('pragma max_page_count = 40');
  const results = await Promise.allSettled([insert(20), insert(200_000), insert(20)]);
  const there = results.map(
    (result) => result.status === 'fulfilled' && rows.get(result.value) !== undefined,
  );
  expect(there[1]).toBe(false);
  expect(results[1]).toMatchObject({ reason: withCode('STORE_FULL') });
  for (const [i, result] of results.entries()) expect(result.status === 'fulfilled').toBe(there[i]);
  expect(rows.get(await insert(20))).toBeDefined();
  db.close();
});

async function openOnSmallDisk(ballast = 0) {
  const disk = smallDisk();
  const file = join(disk.folder, 'tasks.db');
  const { store } = await openSqlite(file);
  disk.fill(1_400_000 - ballast);
  return { store, file, disk };
}

/** Makes tasks, one after the other, until one is refused. */
async function fillWithTasks(store: Store): Promise<{ made: TaskId[]; failure: Error }> {
  const made: TaskId[] = [];
  for (;;) {
    try {
      made.push(...(await makeTasks(store, 1)));
    } catch (failure) {
      return { made, failure: failure as Error };
    }
  }
}

async function makeTasks(store: Store, count: number, bytes = 500): Promise<TaskId[]> {
  const made: TaskId[] = [];
  for (let i = 0; i < count; i++) made.push((await make(store, request(bytes))).id);
  return made;
}

async function make(store: Store, one: ReturnType<typeof request>): Promise<Task> {
  const { task } = await store.create(undefined, () => create(undefined, one, Date.now()));
  return task;
}

function request(bytes: number) {
  return aTask({ arguments: { text: 'x'.repeat(bytes) } });
}

/** All tasks, the oldest first. */
async function idsIn(store: Store): Promise<TaskId[]> {
  const { tasks } = await store.list({ owner: 'alice', limit: 10_000 });
  return tasks.map(({ id }) => id).reverse();
}
