/** Checks that the bare loop writes the same rows as the store. Otherwise it would not be a valid baseline. */
import { deepStrictEqual } from 'node:assert';
import { join } from 'node:path';
import { create } from '../src/engine/rules/transitions.ts';
import { openSqlite } from '../src/sqlite.ts';
import { connect } from '../src/stores/sqlite/driver.ts';
import { BareLoop, bind } from './bare.ts';
import { copy, fill, StoredTasks } from './fixture.ts';
import { answerQuestion, aRequest, commitStep, onlyWrite } from './workload.ts';

export async function checkSameRows(folder: string): Promise<void> {
  const [byStore, byLoop] = [join(folder, 'by-store.db'), join(folder, 'by-loop.db')];
  await fill(byStore, 100);
  copy(byStore, byLoop);
  const before = new StoredTasks(byStore, 100, byLoop);
  const [claimed] = before.claimedIds(1).map((id) => before.task(id));
  const [waiting] = before.waitingIds(1).map((id) => before.task(id));
  before.close();
  const request = aRequest('alice');
  const now = Date.now();

  const { store } = await openSqlite(byStore);
  await store.create(undefined, (existing) => create(existing, request, now));
  await store.update('task', claimed!.id, (task) => commitStep(task, now));
  await store.update('task', waiting!.id, (task) => answerQuestion(task, now));
  await store.close();

  const loop = new BareLoop(byLoop);
  loop.create(bind(onlyWrite(create(undefined, request, now))));
  loop.update(claimed!.id, bind(onlyWrite(commitStep(claimed!, now))));
  loop.update(waiting!.id, bind(onlyWrite(answerQuestion(waiting!, now))));
  loop.close();

  deepStrictEqual(
    rowsOf(byLoop),
    rowsOf(byStore),
    'The bare loop and the store write different rows: update bench/bare.ts.',
  );
}

function rowsOf(file: string): unknown[] {
  const db = connect(file, { readOnly: true });
  try {
    return ['tasks', 'commits'].map((table) => db.prepare(`select * from ${table} order by seq`).all());
  } finally {
    db.close();
  }
}
