/** A database full of tasks of many kinds, and everything that a caller can read from it. */
import { isDeepStrictEqual } from 'node:util';
import * as rules from '../../../src/engine/rules/transitions.ts';
import type { TaskId } from '../../../src/index.ts';
import { hasCode } from '../../../src/model/errors.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import type { Store } from '../../../src/store.ts';
import { aTask } from '../../../src/store-testing.ts';
import { listed } from '../../kit/listed.ts';
import { type Random, seededRandom } from '../../kit/random.ts';
import { queryFile } from '../../kit/sqlite.ts';
import { orDamage } from './files.ts';

const owners = ['alice', 'bob', 'carol'];
const holder = { name: 'somebody', leaseMs: 3_600_000 };

/**
 * Of a hundred tasks, so many have `long` arguments, of 25,000 characters, and so many are `purged` again, which leaves
 * free pages.
 */
export async function populate(
  file: string,
  { tasks, seed, long = 0, purged = 0 }: { tasks: number; seed: number; long?: number; purged?: number },
): Promise<void> {
  const random = seededRandom(seed);
  const { store } = await openSqlite(file);
  const all = Array.from({ length: tasks }, (_, i) => i % 100);
  await eachOf(all, (percent) => live(store, random, percent < long, percent < purged));
  // At the end, so that nothing uses the free pages again.
  const now = Date.now() + 1_000;
  for (;;) {
    const ended = await store.due('purge', now, 128);
    if (ended.length === 0) break;
    await eachOf(ended, (id) => store.update('family', id, (family) => rules.purge(family, now)));
  }
  await store.close();
}

async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < items.length; i += 128) await Promise.all(items.slice(i, i + 128).map(act));
}

async function live(store: Store, random: Random, isLong: boolean, isShortLived: boolean): Promise<void> {
  const now = Date.now();
  const request = aTask({
    owner: random.oneOf(owners),
    arguments: { text: text(random, isLong ? 25_000 : random.between(10, 60)) },
    ...(isShortLived && { retention: { from: 'finish', ms: 0 } }),
  });
  const { id } = request;
  await store.create(undefined, () => rules.create(undefined, request, now));
  if (isShortLived) return void (await store.update('family', id, (family) => rules.cancel(family, now)));
  if (random.chance(0.6)) return;
  const { task } = await store.update('task', id, (task) => rules.claim(task, holder, now));
  const claimed = { taskId: id, epoch: task.epoch };
  await store.update('task', id, (task) => rules.record(task, claimed, [{ value: text(random, 40) }], now));
  if (random.chance(0.5)) {
    for (let child = random.between(1, 4); child > 0; child--)
      await store.update('task', id, (task) => rules.startChild(task, claimed, aTask(), now, [{ child }]));
  } else {
    const outcome = { kind: 'result', isError: false, value: { text: text(random, 60) } } as const;
    await store.update('lineage', id, (lineage) => rules.complete(lineage, claimed, outcome, now));
  }
}

function text(random: Random, length: number): string {
  const words = Array.from({ length: 16 }, () => random.next().toString(36).slice(2)).join(' ');
  return words.repeat(Math.ceil(length / 16)).slice(0, length);
}

export function idsIn(file: string): TaskId[] {
  return queryFile(file, 'select id from tasks order by seq').map(({ id }) => id as TaskId);
}

export interface PageUse {
  readonly page: number;
  /** The table or index it belongs to, and its role there: `tasks leaf`, `commits overflow`. */
  readonly part: string;
}

export function pagesOf(file: string): PageUse[] {
  const sql = "select pageno as page, name || ' ' || pagetype as part from dbstat order by pageno";
  return queryFile(file, sql) as unknown as PageUse[];
}

/** Each question that a caller may ask, with its answer; undefined where the store reported damage. */
export type Answers = ReadonlyMap<string, unknown>;

export async function askEverything(store: Store, ids: readonly TaskId[]): Promise<Answers> {
  const answers = new Map<string, unknown>();
  const ask = async (question: string, answer: Promise<unknown>) => {
    const given = await orDamage(answer);
    answers.set(question, hasCode(given, 'STORE_CORRUPT', 'TASK_CORRUPT') ? undefined : (given ?? null));
  };
  for (const id of ids) {
    await ask(`get ${id}`, store.get(id));
    await ask(`journal ${id}`, store.journal(id));
    await ask(`family ${id}`, store.family(id));
  }
  for (const owner of owners) await ask(`list ${owner}`, listAll(store, owner));
  return answers;
}

async function listAll(store: Store, owner: string): Promise<TaskId[]> {
  const ids: TaskId[] = [];
  for await (const { id } of listed(store, { owner, limit: 50 })) {
    ids.push(id);
    if (ids.length > 100_000) break; // A list that never ends is wrong enough.
  }
  return ids;
}

/**
 * What was answered wrongly without a word: `hidden` are questions answered as if less were there than there is,
 * `wrong` those answered with something else.
 */
export function mistakesIn(given: Answers, right: Answers) {
  const hidden: string[] = [];
  const wrong: string[] = [];
  for (const [question, answer] of right) {
    const instead = given.get(question);
    if (instead === undefined || isDeepStrictEqual(instead, answer)) continue;
    (isPartOf(instead, answer) ? hidden : wrong).push(question);
  }
  return { hidden, wrong };
}

/** Nothing at all, or a list with gaps. */
function isPartOf(given: unknown, right: unknown): boolean {
  if (given === null) return true;
  if (!Array.isArray(given) || !Array.isArray(right)) return false;
  let at = 0;
  return given.every((item) => {
    at = right.indexOf(item, at) + 1;
    return at > 0;
  });
}
