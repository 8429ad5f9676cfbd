/** The stores that are compared: in memory, in a SQLite file and on Postgres, each opened for one sequence. */
import assert from 'node:assert/strict';
import { expect } from 'vitest';
import { audited } from '../../../src/engine/database/audit-log.ts';
import type { Database, Json, TaskId } from '../../../src/index.ts';
import { Refusal } from '../../../src/model/errors.ts';
import { openPostgres } from '../../../src/postgres.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import type { CommittedChange } from '../../../src/store.ts';
import type { ManualClock } from '../../../src/testing/manual-clock.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { freshDatabase } from '../../postgres/database.ts';
import { type Comparing, comparable } from './comparable.ts';

export type Side = ReturnType<typeof sideOf>;

export function openSides(clock: ManualClock): Promise<Side[]> {
  return Promise.all([inMemory(clock), inFile(clock), onPostgres(clock)]);
}

async function inMemory(clock: ManualClock): Promise<Side> {
  return sideOf('memory', async () => {}, await openSqlite('memory:', { clock }));
}

async function inFile(clock: ManualClock): Promise<Side> {
  const file = temporaryFile();
  const openFile = () => openSqlite(file, { clock });
  return sideOf('SQLite', async () => {}, await openFile(), await openFile());
}

async function onPostgres(clock: ManualClock): Promise<Side> {
  const { url, remove } = await freshDatabase();
  const openDatabase = () => openPostgres(url, { clock, connections: 5 });
  return sideOf('Postgres', remove, await openDatabase(), await openDatabase());
}

function sideOf(name: string, remove: () => Promise<unknown>, database: Database, reader = database) {
  // The store in memory has one process, and regards every name as that of a live one.
  const second = reader === database ? 'another' : reader.queue.name;
  const holders: [string, string] = [database.queue.name, second];
  const names = new Map(holders.map((holder, n) => [holder, `process ${n}`]));
  const notices = new Map<TaskId, CommittedChange[]>();
  let count = 0;
  reader.store.subscribe((notice) => {
    notices.set(notice.taskId, [...(notices.get(notice.taskId) ?? []), notice]);
    count++;
  });
  return {
    name,
    database: audited(database),
    /** Reads after the last command: the same store, opened a second time if it can be, so that no cache answers. */
    reader,
    holders,
    notices,
    received: (expected: number) =>
      expect.poll(() => count, { message: `commits from ${name}`, interval: 2 }).toBe(expected),
    /** A value that this store returned, without what differs by nature. */
    plain: <T>(value: T, how?: Comparing): T => comparable(value, { ...how, names }),
    async close(): Promise<void> {
      if (reader !== database) await reader.close();
      await database.close();
      await remove();
    },
  };
}

/** Refusals are compared by code and message. Any other error fails the test. */
export async function orRefusal<T>(act: () => Promise<T>): Promise<T | { readonly refusal: Json }> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Refusal) return { refusal: `${error.code}: ${error.message}` };
    throw error;
  }
}

export async function onAll<T>(
  sides: readonly Side[],
  what: string,
  act: (side: Side) => Promise<T>,
  how?: Comparing,
): Promise<T[]> {
  const answers = await Promise.all(sides.map(act));
  compare(sides, what, answers, how);
  return answers;
}

export function compare(
  sides: readonly Side[],
  what: string,
  answers: readonly unknown[],
  how?: Comparing,
): void {
  const [first, ...others] = answers.map((answer, n) => sides[n]!.plain(answer, how));
  for (const [n, other] of others.entries())
    try {
      assert.deepEqual(other, first);
    } catch (error) {
      const difference = (error as Error).message.slice(0, 3_000);
      throw new Error(`${what}: ${sides[n + 1]!.name} differs from ${sides[0]!.name}. ${difference}`);
    }
}
