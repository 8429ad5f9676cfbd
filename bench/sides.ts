/** The two sides of each comparison: the store and the bare loop, each on its own file. */

import { create } from '../src/engine/rules/transitions.ts';
import type { Task } from '../src/model/task.ts';
import type { Verdict } from '../src/ports/change.ts';
import { openSqlite, type SqliteDatabase, type SqliteOptions } from '../src/sqlite.ts';
import { BareLoop, bind } from './bare.ts';
import { StoredTasks } from './fixture.ts';
import type { Side } from './measure.ts';
import { answerQuestion, anyOwner, aRequest, commitStep, onlyWrite } from './workload.ts';

/** Reads come first: once there are writes, the newest page no longer holds the same mixture at every size. */
export const operations = [
  'get',
  'newest list page',
  'any list page',
  'commit of a step',
  'answer',
  'durable create',
] as const;

export type OperationName = (typeof operations)[number];

export interface Contestant {
  readonly sides: Readonly<Record<OperationName, Side>>;
  close(): Promise<void>;
}

export interface StoreContestant extends Contestant {
  /** Each operation runs this many creators in parallel, each one task after the other, until `total` are created. */
  creators(count: number, total: number): Side;
}

const pageLimit = 50;

export async function openStore(
  file: string,
  size: number,
  pristine: string,
  options: SqliteOptions = {},
): Promise<StoreContestant> {
  const database = await openSqlite(file, options);
  const { store } = database;
  const tasks = new StoredTasks(file, size, pristine);
  const update = (ids: readonly string[], rule: (task: Task, at: number) => Verdict) => {
    const now = Date.now();
    return ids.map((id) => () => store.update('task', id, (task) => rule(task, now)));
  };
  return {
    sides: {
      'durable create': {
        prepare: (count) => {
          tasks.expectMore(count);
          const now = Date.now();
          return times(count, () => aRequest(anyOwner())).map(
            (request) => () => store.create(undefined, (existing) => create(existing, request, now)),
          );
        },
      },
      'commit of a step': { prepare: (count) => update(tasks.claimedIds(count), commitStep) },
      answer: { prepare: (count) => update(tasks.waitingIds(count), answerQuestion) },
      get: { prepare: (count) => times(count, () => tasks.anyId()).map((id) => () => store.get(id)) },
      'newest list page': {
        prepare: (count) =>
          times(count, anyOwner).map((owner) => () => store.list({ owner, limit: pageLimit })),
      },
      'any list page': {
        prepare: (count) =>
          times(count, () => ({ owner: anyOwner(), limit: pageLimit, cursor: String(anyPlace(size)) })).map(
            (query) => () => store.list(query),
          ),
      },
    },
    creators: (count, total) => ({
      prepare: (bursts) => {
        tasks.expectMore(bursts * total);
        return times(bursts, () => () => burst(database, count, total));
      },
    }),
    async close() {
      tasks.close();
      await database.close();
    },
  };
}

async function burst({ store }: SqliteDatabase, creators: number, total: number): Promise<void> {
  const now = Date.now();
  const creator = async () => {
    for (let made = 0; made < total / creators; made++) {
      const request = aRequest(anyOwner());
      await store.create(undefined, (existing) => create(existing, request, now));
    }
  };
  await Promise.all(times(creators, creator));
}

export function openBareLoop(file: string, size: number, pristine: string): Contestant {
  const loop = new BareLoop(file);
  const tasks = new StoredTasks(file, size, pristine);
  const update = (ids: readonly string[], rule: (task: Task, at: number) => Verdict) =>
    ids.map((id) => {
      const bound = bind(onlyWrite(rule(tasks.task(id), Date.now())));
      return () => loop.update(id, bound);
    });
  return {
    sides: {
      'durable create': {
        prepare: (count) => {
          tasks.expectMore(count);
          return times(count, () => {
            const bound = bind(onlyWrite(create(undefined, aRequest(anyOwner()), Date.now())));
            return () => loop.create(bound);
          });
        },
      },
      'commit of a step': { prepare: (count) => update(tasks.claimedIds(count), commitStep) },
      answer: { prepare: (count) => update(tasks.waitingIds(count), answerQuestion) },
      get: { prepare: (count) => times(count, () => tasks.anyId()).map((id) => () => loop.get(id)) },
      'newest list page': {
        prepare: (count) =>
          times(count, anyOwner).map(
            (owner) => () => loop.list(owner, Number.MAX_SAFE_INTEGER, pageLimit + 1),
          ),
      },
      'any list page': {
        prepare: (count) =>
          times(count, () => ({ owner: anyOwner(), before: anyPlace(size) })).map(
            ({ owner, before }) =>
              () =>
                loop.list(owner, before, pageLimit + 1),
          ),
      },
    },
    async close() {
      tasks.close();
      loop.close();
    },
  };
}

/** A random start of a page, with a full page and one more task after it. */
function anyPlace(size: number): number {
  return Math.ceil(size * (0.6 + 0.4 * Math.random()));
}

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}
