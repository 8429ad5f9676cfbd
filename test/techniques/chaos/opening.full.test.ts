/** Coming, going and coming back: what a file looks like to those who open it, and to those who have it open. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { create, startChild } from '../../../src/engine/rules/transitions.ts';
import type { Json } from '../../../src/model/json.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { aTask } from '../../../src/store-testing.ts';
import { Child } from '../../kit/child.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { until } from '../../kit/until.ts';
import type { Line } from './acknowledgement.ts';
import { problemsOf } from './check.ts';
import { Ledger } from './ledger.ts';
import { newPuppet, openedPuppet } from './puppeteer.ts';
import { readSnapshot } from './snapshot.ts';

test('processes that come and go at the same time, the first making the file, find all their work again', async () => {
  const file = temporaryFile();
  const puppets = Array.from({ length: 4 }, () => newPuppet(file));
  const made = await Promise.all(puppets.map((puppet) => puppet.do('comeAndGo', 40)));
  const snapshot = readSnapshot(file);
  expect(problemsOf(snapshot)).toEqual([]);
  expect([...snapshot.tasks.keys()].toSorted()).toEqual(made.flat().toSorted());
});

test('a file whose makers were killed while they made it can be opened', async () => {
  for (let round = 0; round < 8; round++) {
    const file = temporaryFile();
    const ledger = new Ledger();
    const makers = [1, 2].map(
      (seed) => new Child<Line>('techniques/chaos/worker.ts', { file, seed }, ledger.hear),
    );
    await until(() => existsSync(`${file}-instances`));
    await pause(2 * round);
    await Promise.all(makers.map((maker) => maker.kill()));
    const database = await openSqlite(file);
    await database.close();
    expect(ledger.failures).toEqual([]);
    expect(ledger.missingFrom(readSnapshot(file))).toEqual([]);
  }
});

test('a command that fails half-way leaves nothing behind that looks acknowledged', async () => {
  const file = temporaryFile();
  const database = await openSqlite(file);
  const holder = { name: 'someone', leaseMs: 60_000 };
  const { task } = await database.store.create(undefined, () =>
    create(undefined, aTask(), Date.now(), holder),
  );
  const claim = { taskId: task.id, epoch: task.epoch };
  const unwritable = [1n as unknown as Json];
  const halfWay = database.store.update('task', task.id, (now) =>
    startChild(now, claim, aTask(), Date.now(), unwritable),
  );
  await expect(halfWay).rejects.toThrow(TypeError);
  const other = await openSqlite(file);
  expect(await other.store.get(task.id)).toEqual(task);
  await other.close();
  await database.close();
  expect(problemsOf(readSnapshot(file))).toEqual([]);
});

test('those who listen outlive the recovery of a log whose index was torn by a kill', async () => {
  const file = temporaryFile();
  const failures: Line[] = [];
  const hear = (line: Line) => {
    if (line.kind === 'failed') failures.push(line);
  };
  const listeners = [await openedPuppet(file, { hear }), await openedPuppet(file, { hear })];
  for (const listener of listeners) await listener.do('observe');
  // While somebody reads an old state the log cannot start again from its beginning, so it grows.
  const reading = new DatabaseSync(file, { readOnly: true });
  reading.exec('begin');
  reading.prepare('select count(*) from tasks').get();
  await listeners[0]!.do('fillLog', 60);

  const work: Promise<void>[] = [];
  for (const listener of listeners) {
    await listener.do('create', 1);
    const [claim] = await listener.do('claim', 1, 60_000);
    work.push(listener.do('recordMany', claim!, 300, 1));
  }
  const tearing = newPuppet(file);
  for (let n = 0; n < 8; n++) {
    await tearing.do('tearLogIndex');
    await pause(100);
  }
  await Promise.all(work);
  reading.close();
  expect(failures).toEqual([]);
  for (const listener of listeners) await listener.do('close');
  expect(problemsOf(readSnapshot(file))).toEqual([]);
});
