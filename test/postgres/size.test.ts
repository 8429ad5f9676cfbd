import { afterAll, beforeAll, expect, test } from 'vitest';
import * as rules from '../../src/engine/transitions.ts';
import { openPostgres } from '../../src/postgres.ts';
import { rowBytes } from '../../src/stores/postgres/sizes.ts';
import { aTask } from '../../src/testing/fixtures.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { claimed, create, end, startChild } from '../../src/testing/store-commands.ts';
import { encryption } from '../encryption/keys.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.remove());

/** The definition, over all rows. */
async function counted(): Promise<number> {
  const { task, commit, result, entry } = rowBytes;
  const [row] = await query(
    database.url,
    `select (
      (select coalesce(sum(octet_length(body) + ${task}), 0) from holdfast.tasks)
      + (select coalesce(sum(octet_length(events) + coalesce(octet_length(journal), 0) + ${commit}), 0)
        from holdfast.commits)
      + (select coalesce(sum(octet_length(value) + ${result}), 0) from holdfast.results)
      + (select coalesce(sum(octet_length(said) + ${entry}), 0) from holdfast.audit))::text as bytes`,
  );
  return Number(row!.bytes);
}

test('the size is what a count of all rows would give, whatever was written, removed, rewritten and by whom', async () => {
  const clock = new ManualClock();
  const open = (...ids: string[]) =>
    openPostgres(database.url, {
      clock,
      connections: 5,
      ...(ids.length > 0 && { encryption: encryption(...ids) }),
    });
  const one = await open();
  const other = await open();
  const fill = async ({ store, audit }: typeof one) => {
    const { task: parent, claim } = await claimed(store, clock, aTask({ arguments: { text: 'Kälp 🌊' } }));
    const child = await startChild(store, clock, claim);
    await store.update('task', parent.id, (task) =>
      rules.record(task, claim, ['ö'.repeat(5_000)], clock.now()),
    );
    await end(store, clock, child);
    await end(store, clock, parent);
    const large = await claimed(store, clock);
    const outcome = { kind: 'result', isError: false, value: { text: 'x'.repeat(300_000) } } as const;
    await store.update('lineage', large.task.id, (around) =>
      rules.complete(around, large.claim, outcome, clock.now()),
    );
    await Promise.all(Array.from({ length: 50 }, () => create(store, clock, aTask())));
    await audit.append([{ at: 1_000, action: 'denied', owner: 'ada', taskId: null, by: 'caller' }]);
    return [parent.id, large.task.id];
  };
  const [made] = await Promise.all([fill(one), fill(other)]);
  expect(await one.store.size()).toBe(await counted());
  expect(await one.store.size()).toBeGreaterThan(600_000);

  for (const id of made)
    await other.store.update('family', id, (family) => rules.crowdOut(family, clock.now(), clock.now()));
  expect(await other.audit.prune(2_000, 1)).toBe(1);
  expect(await one.store.size()).toBe(await counted());

  await Promise.all([one.close(), other.close()]);
  const encrypted = await open('first');
  await encrypted.rekey();
  await fill(encrypted);
  expect(await encrypted.store.size()).toBe(await counted());
  await encrypted.close();
});
