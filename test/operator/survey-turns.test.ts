/** Operators' queries do not delay other work: they are limited in time, and files are read in a thread. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { openSqlite } from 'holdfast/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cancel } from '../../src/engine/rules/endings.ts';
import { create } from '../../src/engine/rules/transitions.ts';
import type { TaskFilter, TaskQueries } from '../../src/ports/query.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { aTask } from '../../src/store-testing.ts';
import { SqlTaskQueries } from '../../src/stores/shared/query/query.ts';
import type { Sql } from '../../src/stores/shared/query/sql.ts';
import { connect } from '../../src/stores/sqlite/driver.ts';
import { Vault } from '../../src/stores/sqlite/encryption/vault.ts';
import { sqliteSource } from '../../src/stores/sqlite/query/query.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { withCode } from '../kit/with-code.ts';

/** A file with tasks: one in fifty is of another tool, and one in ten was cancelled. */
async function fileOf(count: number): Promise<string> {
  const file = temporaryFile();
  const { store, close } = await openSqlite(file);
  await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const request = aTask(n % 50 === 0 ? { tool: 'rare tool' } : {});
      await store.create(undefined, () => create(undefined, request, Date.now()));
      if (n % 10 === 0) await store.update('family', request.id, (family) => cancel(family, Date.now()));
    }),
  );
  await close();
  return file;
}

/** Reads the file in this thread; by default every query exceeds its time limit at once. */
function surveyorOf(file: string, isOver = true): TaskQueries {
  const db = connect(file, { readOnly: true });
  onTestFinished(() => db.close());
  const source = sqliteSource(new Vault(db, undefined, file), async <Row>({ text, values }: Sql) => {
    return db.prepare(text).all(...values) as Row[];
  });
  return new SqlTaskQueries(source, { clock: systemClock, budget: () => () => isOver });
}

describe('a query that takes too long', () => {
  test.each<TaskFilter>([
    { text: 'RARE TOOL' },
    { tool: 'rare tool', owner: 'alice' },
    { statuses: ['completed', 'cancelled'] },
    { statuses: ['completed', 'cancelled'], text: 'publish', since: 0 },
  ])('ends a page early, and its cursor continues: %j', async (filter) => {
    const file = await fileOf(400);
    const whole = await surveyorOf(file, false).list({ ...filter, limit: 50 });
    expect(whole).toMatchObject({ tasks: { length: filter.statuses ? (filter.text ? 32 : 40) : 8 } });
    expect(whole.nextCursor).toBeUndefined();
    const survey = surveyorOf(file);
    const ids: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; pages++) {
      const page = await survey.list({ ...filter, limit: 50, ...(cursor !== undefined && { cursor }) });
      ids.push(...page.tasks.map(({ id }) => id));
      if (page.nextCursor === undefined) break;
      cursor = page.nextCursor;
    }
    expect(ids).toEqual(whole.tasks.map(({ id }) => id));
    expect(pages).toBeGreaterThan(1);
  });

  test('returns the count so far and reports that there may be more', async () => {
    const counted = await surveyorOf(await fileOf(200)).count({ text: 'publish' }, 1_000);
    expect(counted).toMatchObject({ isMore: true });
    expect(counted.count).toBeGreaterThan(0);
    expect(counted.count).toBeLessThan(196);
  });

  test('counts more than the newest tasks, even with a small limit', async () => {
    const survey = surveyorOf(await fileOf(200));
    const filter: TaskFilter = { statuses: ['completed', 'cancelled'] };
    expect(await survey.count(filter, 1)).toEqual({ count: 1, isMore: true });
  });

  test('is counted to the end if there is time', async () => {
    const survey = surveyorOf(await fileOf(1_500), false);
    const filter: TaskFilter = { statuses: ['completed', 'queued'] };
    expect(await survey.count(filter, 1_350)).toEqual({ count: 1_350, isMore: false });
    expect(await survey.count(filter, 1_349)).toEqual({ count: 1_349, isMore: true });
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

  test('is started by the first query of a file, and serves all later queries', async () => {
    const started = countThreads();
    const heard = warnings();
    const { queries: survey, store, close } = await openSqlite(temporaryFile());
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
    const { queries: survey, close } = await openSqlite('memory:');
    onTestFinished(close);
    expect(await survey.list({ limit: 1 })).toEqual({ tasks: [] });
    expect(started()).toBe(0);
  });

  test('is not used if it cannot be started', async () => {
    const file = temporaryFile();
    const heard = warnings();
    const { queries: survey, store, close } = await openSqlite(file);
    onTestFinished(close);
    const request = aTask();
    await store.create(undefined, () => create(undefined, request, Date.now()));
    // Open files outlive their names, so that only a new connection misses it.
    rmSync(file);
    for (let look = 0; look < 2; look++)
      expect((await survey.list({ limit: 5 })).tasks).toMatchObject([{ id: request.id }]);
    await expect.poll(() => heard).toContainEqual(expect.stringContaining('no thread could be started'));
  });

  test('ends with its store, even during a query', async () => {
    const { queries: survey, close } = await openSqlite(temporaryFile());
    const looking = survey.list({ limit: 1 });
    const outcome = expect(looking).rejects.toThrow(withCode('STORE_CLOSED'));
    await close();
    await outcome;
    await expect(survey.list({ limit: 1 })).rejects.toThrow(withCode('STORE_CLOSED'));
  });

  test('keeps no process alive', async () => {
    const script = `
      import { openSqlite } from ${JSON.stringify(new URL('../../src/sqlite.ts', import.meta.url).href)};
      const { queries } = await openSqlite(${JSON.stringify(temporaryFile())});
      console.log(JSON.stringify(await queries.list({ limit: 1 })));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { timeout: 100_000 },
    );
    expect(JSON.parse(stdout)).toEqual({ tasks: [] });
  });
});
