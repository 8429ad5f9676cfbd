/** Nobody who is served waits for an operator: files are read in a thread, everything else in turns. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { openSqlite } from 'holdfast/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cancel } from '../../src/engine/endings.ts';
import { StoreClosed } from '../../src/engine/store-errors.ts';
import type { SurveyFilter } from '../../src/engine/survey.ts';
import { ask, claim, create, startChild } from '../../src/engine/transitions.ts';
import { systemClock } from '../../src/model/clock.ts';
import { connect } from '../../src/stores/sqlite/driver.ts';
import { SqliteSurveySource } from '../../src/stores/sqlite/survey-source.ts';
import { Vault } from '../../src/stores/sqlite/vault.ts';
import { Surveyor } from '../../src/stores/values/surveyor.ts';
import { aTask } from '../../src/testing.ts';
import { temporaryFile } from '../kit/lifetime.ts';

/** A file with tasks, every tenth of them cancelled. */
async function fileOf(count: number): Promise<string> {
  const file = temporaryFile();
  const { store, close } = await openSqlite(file);
  await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const request = aTask();
      await store.create(undefined, () => create(undefined, request, Date.now()));
      if (n % 10 === 0) await store.update('family', request.id, (family) => cancel(family, Date.now()));
    }),
  );
  await close();
  return file;
}

/** A file with one task, and so many subtasks of it that ask. */
async function fileOfAsking(count: number): Promise<string> {
  const file = temporaryFile();
  const { store, close } = await openSqlite(file);
  const claimed = async (id: string) => {
    const holder = { name: 'worker', leaseMs: 60_000 };
    const { task } = await store.update('task', id, (one) => claim(one, holder, Date.now()));
    return { taskId: id, epoch: task.epoch };
  };
  const root = aTask();
  await store.create(undefined, () => create(undefined, root, Date.now()));
  const rootClaim = await claimed(root.id);
  const question = { key: 'colour', request: { kind: 'roots' } } as const;
  for (let n = 0; n < count; n++) {
    const child = aTask();
    await store.update('task', root.id, (one) => startChild(one, rootClaim, child, Date.now()));
    const own = await claimed(child.id);
    await store.update('task', child.id, (one) => ask(one, own, question, Date.now()));
  }
  await close();
  return file;
}

/** A surveyor of that file which counts its turns, and how many rows or entries it took in the longest of them. */
function surveyorOf(file: string, budget?: () => () => boolean) {
  const db = connect(file, { readOnly: true });
  onTestFinished(() => db.close());
  const pace = { rows: 8, entries: 16, summed: 16 };
  const turns = { taken: 0 };
  const turn = async () => void turns.taken++;
  const source = new SqliteSurveySource(db, new Vault(db, undefined, file), { ...pace, turn });
  return { surveyor: new Surveyor(source, { clock: systemClock, ...(budget && { budget }) }), turns };
}

describe('taking turns', () => {
  test('a long look is cut into short ones', async () => {
    const { surveyor, turns } = surveyorOf(await fileOf(200));
    await surveyor.list({ text: 'nothing of the kind', limit: 10 });
    expect(turns.taken).toBeGreaterThanOrEqual(200 / 8);
    turns.taken = 0;
    await surveyor.overview({ since: 0, until: Date.now() + 1_000, buckets: 2 });
    expect(turns.taken).toBeGreaterThanOrEqual(180 / 16);
  });

  test.each<SurveyFilter>([
    {},
    { text: 'publish' },
    { standings: ['cancelled', 'queued'] },
    { owner: 'alice' },
  ])('a page that takes too long ends early, and its cursor goes on: %j', async (filter) => {
    const file = await fileOf(200);
    const whole = await surveyorOf(file).surveyor.list({ ...filter, limit: 1_000 });
    expect(whole.tasks).toHaveLength(200);
    const { surveyor } = surveyorOf(file, () => () => true);
    const ids: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; pages++) {
      const page = await surveyor.list({ ...filter, limit: 1_000, ...(cursor !== undefined && { cursor }) });
      ids.push(...page.tasks.map(({ id }) => id));
      if (page.nextCursor === undefined) break;
      cursor = page.nextCursor;
    }
    expect(ids).toEqual(whole.tasks.map(({ id }) => id));
    expect(pages).toBeGreaterThan(1);
  });

  test('subtasks that ask are passed in turns too, and none is missed', async () => {
    const file = await fileOfAsking(100);
    const { surveyor, turns } = surveyorOf(file, () => () => true);
    const ids = new Set<string>();
    let pages = 0;
    for (let cursor: string | undefined; ; pages++) {
      const query = { standings: ['waiting'], limit: 1_000 } as const;
      const page = await surveyor.list({ ...query, ...(cursor !== undefined && { cursor }) });
      for (const { id } of page.tasks) ids.add(id);
      if (page.nextCursor === undefined) break;
      cursor = page.nextCursor;
    }
    expect(ids.size).toBe(100);
    expect(pages).toBeGreaterThan(1);
    turns.taken = 0;
    const { live } = await surveyor.overview({ since: 0, until: 1, buckets: 1 });
    expect(live).toEqual({ queued: 0, running: 1, waiting: 100 });
    expect(turns.taken).toBeGreaterThanOrEqual(100 / 8);
    // More than are counted by going through them are counted by the index.
    expect(await surveyor.count({ standings: ['waiting'] }, 1_000)).toEqual({ count: 100, isMore: false });
    expect(await surveyor.count({}, 1_000)).toEqual({ count: 1, isMore: false });
  });

  test('a count that takes too long says that there may be more', async () => {
    const { surveyor } = surveyorOf(await fileOf(200), () => () => true);
    const counted = await surveyor.count({ text: 'publish' }, 1_000);
    expect(counted).toMatchObject({ isMore: true });
    expect(counted.count).toBeLessThan(200);
  });
});

function warnings(): string[] {
  const heard: string[] = [];
  const hear = ({ message }: Error) => void heard.push(message);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  return heard;
}

describe('the thread', () => {
  function countThreads(): () => number {
    let started = 0;
    const count = () => void started++;
    process.on('worker', count);
    onTestFinished(() => void process.off('worker', count));
    return () => started;
  }

  test('is started by the first look at a file, and serves all that follow', async () => {
    const started = countThreads();
    const heard = warnings();
    const { survey, store, close } = await openSqlite(temporaryFile());
    onTestFinished(close);
    await store.create(undefined, () => create(undefined, aTask(), Date.now()));
    expect(started()).toBe(0);
    await Promise.all([survey.list({ limit: 1 }), survey.count({}, 10)]);
    await survey.overview({ since: 0, until: Date.now(), buckets: 1 });
    expect(started()).toBe(1);
    expect(heard.filter((message) => message.includes('thread'))).toEqual([]);
  });

  test('is not needed in memory', async () => {
    const started = countThreads();
    const { survey, close } = await openSqlite('memory:');
    onTestFinished(close);
    expect(await survey.list({ limit: 1 })).toEqual({ tasks: [] });
    expect(started()).toBe(0);
  });

  test('is done without where none can be started', async () => {
    const file = temporaryFile();
    const heard = warnings();
    const { survey, store, close } = await openSqlite(file);
    onTestFinished(close);
    const request = aTask();
    await store.create(undefined, () => create(undefined, request, Date.now()));
    // Open files outlive their names, so that only a new connection misses it.
    rmSync(file);
    for (let look = 0; look < 2; look++)
      expect((await survey.list({ limit: 5 })).tasks).toMatchObject([{ id: request.id }]);
    await expect.poll(() => heard).toContainEqual(expect.stringContaining('their thread cannot be started'));
  });

  test('ends with its store, whoever is still looking', async () => {
    const { survey, close } = await openSqlite(temporaryFile());
    const looking = survey.list({ limit: 1 });
    const outcome = expect(looking).rejects.toThrow(StoreClosed);
    await close();
    await outcome;
    await expect(survey.list({ limit: 1 })).rejects.toThrow(StoreClosed);
  });

  test('keeps no process alive', async () => {
    const script = `
      import { openSqlite } from ${JSON.stringify(new URL('../../src/sqlite.ts', import.meta.url).href)};
      const { survey } = await openSqlite(${JSON.stringify(temporaryFile())});
      console.log(JSON.stringify(await survey.list({ limit: 1 })));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { timeout: 100_000 },
    );
    expect(JSON.parse(stdout)).toEqual({ tasks: [] });
  });
});
