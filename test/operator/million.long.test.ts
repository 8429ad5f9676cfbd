import type { Database } from 'holdfast';
import { openPostgres } from 'holdfast/postgres';
import { openSqlite } from 'holdfast/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OverviewQuery, TaskFilter } from '../../src/ports/query.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { freshDatabase } from '../postgres/database.ts';
import { crowdPostgres, crowdSqlite, rare } from './population.ts';

/** In milliseconds. */
const most = { page: 50, count: 300, firstOverview: 1_000, overview: 100, held: 20 };
const tasks = Number(process.env.HOLDFAST_CROWD ?? 1_000_000);
const spanMs = 24 * 3_600_000;

const filters: Readonly<Record<string, TaskFilter>> = {
  'status: lost': { statuses: ['lost'] },
  'status: failed': { statuses: ['failed'] },
  'status: running': { statuses: ['running'] },
  'status: queued': { statuses: ['queued'] },
  'status: completed': { statuses: ['completed'] },
  'tool: rare': { tool: rare.tool },
  'tool: common': { tool: 'tool_3' },
  'owner: rare': { owner: rare.owner },
  'owner: common': { owner: 'owner-5' },
  'text: found soon': { text: 'OWNER-77' },
  'text: found nowhere': { text: 'no such text' },
};

/** The longest that this thread computed without a pause: time in which it had to wait for a processor is not held. */
function watchTurns(): () => number {
  let longest = 0;
  let last = cpuMs();
  const timer = setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

interface Measured {
  readonly best: number;
  readonly first: number;
  readonly held: number;
}

async function measured(act: () => Promise<unknown>, rounds = 3): Promise<Measured> {
  const times: number[] = [];
  let held = 0;
  for (let round = 0; round < rounds; round++) {
    const longest = watchTurns();
    const started = performance.now();
    await act();
    times.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 5));
    held = Math.max(held, longest());
  }
  return { best: Math.min(...times), first: times[0]!, held };
}

/** In a store that was just opened, which remembers nothing. */
async function measuredFirst(open: () => Promise<Database>, query: OverviewQuery): Promise<Measured> {
  const times: number[] = [];
  let held = 0;
  for (let round = 0; round < 3; round++) {
    const { queries: survey, close } = await open();
    // The thread is started, and connections are made, before anything is measured.
    await survey.list({ limit: 1 });
    const one = await measured(() => survey.overview(query), 1);
    times.push(one.first);
    held = Math.max(held, one.held);
    await close();
  }
  return { best: Math.min(...times), first: times[0]!, held };
}

async function expectFast(name: string, open: () => Promise<Database>, since: number): Promise<void> {
  const { queries: survey, close } = await open();
  onTestFinished(close);
  const until = since + spanMs;
  const lines: string[] = [];
  const late: string[] = [];
  const look = async (what: string, limit: number, act: () => Promise<unknown>) =>
    judge(what, limit, await measured(act));
  const judge = (what: string, limit: number, { best, first, held }: Measured) => {
    lines.push(
      `${what.padEnd(28)} ${best.toFixed(1).padStart(8)} ${first.toFixed(1).padStart(9)} ${held.toFixed(1).padStart(8)}`,
    );
    if (best > limit) late.push(`${what} took ${best.toFixed(0)} ms`);
    if (held > most.held) late.push(`${what} held the event loop for ${held.toFixed(0)} ms`);
  };
  // The thread is started, and pages that everybody reads are read, before anything is measured.
  await survey.list({ limit: 1 });
  await look('first page', most.page, () => survey.list({ limit: 50 }));
  const { nextCursor } = await survey.list({ limit: 50 });
  await look('second page', most.page, () => survey.list({ limit: 50, cursor: nextCursor! }));
  for (const [what, filter] of Object.entries(filters))
    await look(what, most.page, () => survey.list({ ...filter, limit: 50 }));
  const middle = { since: since + spanMs / 2, until: since + spanMs / 2 + 60_000 };
  await look('created in one minute', most.page, () => survey.list({ ...middle, limit: 50 }));
  await look('created long ago', most.page, () => survey.list({ until: since + 60_000, limit: 50 }));
  for (const [what, filter] of Object.entries({ all: {}, ...filters }))
    await look(`count ${what}`, most.count, () => survey.count(filter, 10_000));
  const day = { since, until, buckets: 60 };
  judge('first overview of a day', most.firstOverview, await measuredFirst(open, day));
  judge('first of one owner', most.firstOverview, await measuredFirst(open, { ...day, owner: 'owner-5' }));
  await look('overview of a day', most.overview, () => survey.overview(day));
  await look('overview of an hour', most.overview, () =>
    survey.overview({ since: until - 3_600_000, until, buckets: 60 }),
  );
  await look('overview of one owner', most.overview, () => survey.overview({ ...day, owner: 'owner-5' }));
  console.log(
    [`${name}, ${tasks} tasks (ms)`, `${''.padEnd(28)}     best     first     held`, ...lines].join('\n'),
  );
  expect(late).toEqual([]);

  const page = (filter: TaskFilter) => survey.list({ ...filter, limit: 50 });
  expect((await page({ statuses: ['lost'] })).tasks).toHaveLength(4);
  expect((await page({ statuses: ['running'] })).tasks).toHaveLength(4);
  expect((await page({ tool: rare.tool })).tasks).toHaveLength(rare.count);
  expect((await page({ owner: rare.owner })).tasks).toHaveLength(rare.count);
  expect((await page({ statuses: ['failed'] })).tasks).toHaveLength(50);
  expect((await page({ until: since + 3_600_000 })).tasks).toHaveLength(50);
  const { ended } = await survey.overview({ since, until: until + spanMs, buckets: 24 });
  const all = Object.values(ended).slice(0, 4) as number[];
  expect(all.reduce((sum, one) => sum + one, 0)).toBe(tasks - 1_003 + 4);
}

describe(`with ${tasks} tasks`, () => {
  test('an operator waits a moment, and nobody else does, on SQLite', { timeout: 900_000 }, async () => {
    const file = temporaryFile();
    const open = () => openSqlite(file);
    const database = await open();
    const since = Date.now() - spanMs;
    await crowdSqlite(database, file, { tasks, since, stepMs: spanMs / tasks });
    await database.close();
    await expectFast('SQLite', open, since);
  });

  test('an operator waits a moment, and nobody else does, on Postgres', { timeout: 900_000 }, async () => {
    const { url, remove } = await freshDatabase();
    onTestFinished(remove);
    const open = () => openPostgres(url);
    const database = await open();
    const since = Date.now() - spanMs;
    await crowdPostgres(database, url, { tasks, since, stepMs: spanMs / tasks });
    await database.close();
    await expectFast('Postgres', open, since);
  });
});
