/** What a process remembers of commits so that it tells none twice is forgotten when that can no longer happen. */
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../src/postgres.ts';
import { clientConfig } from '../../src/stores/postgres/driver.ts';
import { Feed } from '../../src/stores/postgres/feed.ts';
import { Line } from '../../src/stores/postgres/line.ts';
import { Meanwhile } from '../../src/stores/postgres/meanwhile.ts';
import { Connections } from '../../src/stores/postgres/pool.ts';
import { RecentNumbers } from '../../src/stores/postgres/recent-numbers.ts';
import { Vault } from '../../src/stores/postgres/vault.ts';
import { freshDatabase } from './database.ts';

test('a commit that was told, and is gone with its task before a look could find it', async () => {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  await (await openPostgres(url)).close();
  const schema = 'holdfast';
  const pool = new pg.Pool({ ...clientConfig(url, { statementMs: 30_000 }), max: 2 });
  const connections = new Connections(pool, 'here');
  onTestFinished(() => connections.close());
  const vault = new Vault({ connections, schema, keys: undefined, place: 'here' });
  const line = new Line({ connections, hints: connections, schema, connect: () => Promise.reject() });
  const feed = new Feed(connections, vault, line, schema);
  onTestFinished(() => feed.close());
  await feed.start();
  const heard: number[] = [];
  feed.subscribe(({ version }) => void heard.push(version));
  const notice = { taskId: 'task', rootId: 'task', version: 1, at: 1, events: [] };
  for (const seq of [1_000, 1_001]) await feed.committed([{ ...notice, seq }], false);
  expect(heard).toEqual([1, 1]);
  expect(feed.remembered).toBe(2);
  await feed.committedUnheard(false);
  expect(feed.remembered).toBe(0);
});

test('what looks find while some transaction of the process is always under way', () => {
  const found = new Meanwhile();
  found.add(0);
  expect(found.size).toBe(0);
  let endLast = found.begin();
  for (let seq = 1; seq <= 100; seq++) {
    found.add(seq);
    const end = found.begin();
    endLast();
    endLast = end;
    // The one before it may be what this transaction is about to tell.
    expect(found.delete(seq)).toBe(true);
    found.add(seq);
    expect(found.size).toBeLessThan(5);
  }
  endLast();
  expect(found.size).toBe(0);
});

test('numbers of commits are told apart as far back as they are remembered, and count as told before that', () => {
  const numbers = new RecentNumbers();
  for (const seq of [10, 12, 11, 40]) numbers.add(seq);
  expect([9, 10, 11, 12, 13, 39, 40, 41].filter((seq) => numbers.has(seq))).toEqual([10, 11, 12, 40]);
  const later = 2 ** 22 + 11;
  numbers.add(later);
  expect([9, 10, 11, 12, 13, 40, later - 1, later].filter((seq) => numbers.has(seq))).toEqual([
    ...[9, 10, 11, 12, 40],
    later,
  ]);
  numbers.add(later * 3);
  expect([later, later * 2, later * 3 - 1, later * 3].filter((seq) => numbers.has(seq))).toEqual([
    ...[later, later * 2],
    later * 3,
  ]);
});
