/** A task that polls once a second, as its store sees it: claimed, found not to be ready, parked again. */

import { DatabaseSync } from 'node:sqlite';
import type { Database } from 'holdfast';
import * as rules from '../../../src/engine/rules/transitions.ts';
import { aTask } from '../../../src/store-testing.ts';
import { queryFile } from '../../kit/sqlite.ts';
import { query } from '../../postgres/server.ts';
import { isPostgres } from '../../stores/kinds.ts';

/** Makes it, and lets it record that it polls. */
export async function pollingTask({ store }: Database, now: number): Promise<string> {
  const request = aTask();
  await store.create(undefined, () => rules.create(undefined, request, now));
  const claim = await claimed({ store }, request.id, now);
  await store.update('task', request.id, (task) => rules.record(task, claim, [{ n: 1 }], now));
  await park({ store }, claim, undefined, now);
  return request.id;
}

/** One look, which finds nothing. */
export async function look({ store }: Pick<Database, 'store'>, id: string, now: number): Promise<void> {
  const claim = await claimed({ store }, id, now);
  await store.journal(id);
  await park({ store }, claim, claim.version, now);
}

async function claimed({ store }: Pick<Database, 'store'>, taskId: string, now: number) {
  const holder = { name: 'worker', leaseMs: 15_000 };
  const { task } = await store.update('task', taskId, (one) => rules.claim(one, holder, now));
  return { taskId, epoch: task.epoch, version: task.version };
}

async function park(
  { store }: Pick<Database, 'store'>,
  claim: { readonly taskId: string; readonly epoch: number },
  claimedVersion: number | undefined,
  now: number,
): Promise<void> {
  await store.update('task', claim.taskId, (task) =>
    rules.park(task, claim, { seenVersion: task.version, until: now + 1_000, claimedVersion }, now),
  );
}

/** Writes the rows in that so many looks leave behind, at one each second from then on; the store is closed meanwhile. */
export async function writeLooks(place: string, id: string, looks: number, from: number): Promise<void> {
  const body = `'$.version'`;
  if (isPostgres(place)) {
    await query(
      place,
      `set search_path to holdfast;
      with t as (select seq, (body::json ->> 'version')::int as version from tasks where id = '${id}')
      insert into commits (task, version, at, events, idle)
      select t.seq, t.version + n, ${from} + 1000.0 * ((n + 1) / 2),
        case when n % 2 = 1 then '[{"type":"claimed","epoch":12345,"worker":"abcdefghijklmnopqrstuvwxyz123456"}]'
          else '[{"type":"parked","until":1794797000000}]' end,
        case when n % 2 = 0 then true end
      from t, generate_series(1, ${2 * looks}) n order by n;
      update tasks set body = jsonb_set(body::jsonb, '{version}', to_jsonb((body::json ->> 'version')::int + ${2 * looks}))::text
        where id = '${id}';
      analyze commits; analyze tasks`,
    );
    return;
  }
  const db = new DatabaseSync(place);
  db.exec(`
    with recursive n (n) as (select 1 union all select n + 1 from n where n < ${2 * looks})
    insert into commits (task, version, at, events, idle)
    select t.seq, json_extract(body, ${body}) + n, ${from} + 1000 * ((n + 1) / 2),
      iif(n % 2 = 1, '[{"type":"claimed","epoch":12345,"worker":"abcdefghijklmnopqrstuvwxyz123456"}]',
        '[{"type":"parked","until":1794797000000}]'),
      iif(n % 2 = 0, 1, null)
    from n, (select seq, body from tasks where id = '${id}') t order by n;
    update tasks set body = json_set(body, ${body}, json_extract(body, ${body}) + ${2 * looks}) where id = '${id}'`);
  db.close();
}

export async function commitsIn(place: string): Promise<number> {
  const sql = 'select count(*) as n from commits';
  const rows = isPostgres(place)
    ? await query(place, `set search_path to holdfast; ${sql}`)
    : queryFile(place, sql);
  return Number(rows[0]!.n);
}
