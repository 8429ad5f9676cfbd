/** A stopped process is not a dead one: only its lease frees what it holds, and then for good. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { complete } from '../../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../../src/engine/worker/claiming.ts';
import type { Claimed } from '../../../src/ports/queue.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/sqlite.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { until } from '../../kit/until.ts';
import { problemsIn } from './check.ts';
import { tools } from './load.ts';
import { openedPuppet } from './puppeteer.ts';

const leaseMs = 700;

test('a process that was stopped past its lease cannot commit', async () => {
  const file = temporaryFile();
  const { stopped, other, claim } = await stoppedHolder(file);
  const taken = await claimWhenFree(other);
  const before = await other.store.get(claim.taskId);
  const journal = await other.store.journal(claim.taskId);

  stopped.go();
  await expect(stopped.do('record', claim, ['too late'])).rejects.toMatchObject({ code: 'CLAIM_LOST' });
  await expect(stopped.do('complete', claim, 'too late')).rejects.toMatchObject({ code: 'CLAIM_LOST' });
  expect(await stopped.do('renew', [claim], 60_000)).toEqual([claim]);
  expect(await other.store.get(claim.taskId)).toEqual(before);
  expect(await other.store.journal(claim.taskId)).toEqual(journal);

  await other.store.update('lineage', claim.taskId, (around) =>
    complete(around, taken.claim, { kind: 'result', isError: false, value: 'in time' }, Date.now()),
  );
  await expect(stopped.do('complete', claim, 'too late')).rejects.toMatchObject({ code: 'CLAIM_LOST' });
  expect(await other.store.get(claim.taskId)).toMatchObject({ phase: 'done', outcome: { value: 'in time' } });
  await other.close();
  expect(problemsIn(file)).toEqual([]);
});

test('a stopped process keeps what it holds until its lease has run out', async () => {
  const { stopped, other, claimedAt, claim } = await stoppedHolder(temporaryFile());
  const taken = await claimWhenFree(other);
  expect(Date.now() - claimedAt).toBeGreaterThanOrEqual(leaseMs);
  expect(taken.claim).toEqual({ taskId: claim.taskId, epoch: claim.epoch + 1 });
  stopped.go();
  await other.close();
});

test('a process that was stopped for a shorter time goes on', async () => {
  const file = temporaryFile();
  const { stopped, other, claim } = await stoppedHolder(file, 60_000);
  await pause(400);
  expect(await claimTasks(other, { tools, limit: 1, leaseMs, now: Date.now })).toEqual([]);
  stopped.go();
  await stopped.do('record', claim, ['still mine']);
  await stopped.do('complete', claim, 'in time');
  expect(await other.store.get(claim.taskId)).toMatchObject({ phase: 'done', outcome: { value: 'in time' } });
  await other.close();
  expect(problemsIn(file)).toEqual([]);
});

test('a process that was stopped in the middle of a commit finishes it before anyone can claim its task', async () => {
  const file = temporaryFile();
  const holder = await openedPuppet(file);
  const other = await openSqlite(file);
  await holder.do('create', 1);
  const [claim] = await holder.do('claim', 1, 100);
  await holder.do('stopAt', 'commit: written');
  const completed = holder.do('complete', claim!, 'begun in time');
  await until(() => isWriteLocked(file));
  expect(await claimTasks(other, { tools, limit: 1, leaseMs, now: Date.now })).toEqual([]);
  await pause(200); // Its lease was seen to run out.
  const claims = claimTasks(other, { tools, limit: 1, leaseMs, now: Date.now });
  // The other's event loop goes round while it waits for the file.
  expect(await Promise.race([claims, pause(300, 'still waiting')])).toBe('still waiting');

  holder.go();
  await completed;
  expect(await claims).toEqual([]);
  expect(await other.store.get(claim!.taskId)).toMatchObject({ phase: 'done', epoch: claim!.epoch });
  await other.close();
  expect(problemsIn(file)).toEqual([]);
});

function isWriteLocked(file: string): boolean {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec('begin immediate; rollback');
    return false;
  } catch {
    return true;
  } finally {
    db.close();
  }
}

async function stoppedHolder(file: string, lease = leaseMs) {
  const stopped = await openedPuppet(file);
  const other = await openSqlite(file);
  await stopped.do('create', 1);
  const claimedAt = Date.now();
  const [claim] = await stopped.do('claim', 1, lease);
  stopped.stop();
  return { stopped, other, claimedAt, claim: claim! };
}

/** Asks again and again, so that it would take the task too early if it could. */
async function claimWhenFree(database: SqliteDatabase): Promise<Claimed> {
  for (;;) {
    const [claimed] = await claimTasks(database, { tools, limit: 1, leaseMs: 60_000, now: Date.now });
    if (claimed) return claimed;
    await pause(5);
  }
}
