/** How many bytes a finished task with five steps takes in Postgres, indexes included. */
import { createTasks, durableTool } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import { type PostgresServer, query } from '../test/postgres/server.ts';
import { median } from './measure.ts';
import { steps, stepValue } from './peers/adapter.ts';
import { count, type Target } from './report.ts';

const inFlight = 500;

const fiveSteps = durableTool('five-steps', {}, async (_, task) => {
  for (const step of steps) await task.step(`step ${step}`, () => stepValue(step));
});

export async function measureStorage(
  postgres: PostgresServer,
  { rounds, tasks: total }: { readonly rounds: number; readonly tasks: number },
): Promise<Target[]> {
  const left: number[] = [];
  const compacted: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const url = await postgres.createDatabase();
    const tasks = createTasks({ store: () => openPostgres(url), tools: [fiveSteps] });
    await tasks.work({ concurrency: 64 });
    const empty = await storedBytes(url);
    const run = async () => tasks.outcome((await tasks.create(fiveSteps)).id);
    for (let done = 0; done < total; done += inFlight)
      await Promise.all(Array.from({ length: Math.min(inFlight, total - done) }, run));
    await tasks.close();
    left.push((await storedBytes(url)) - empty);
    await query(url, 'vacuum full');
    compacted.push((await storedBytes(url)) - empty);
  }
  const target = (what: string, bytes: readonly number[], atMost: number): Target => ({
    what: `a five-step task in Postgres ${what} (of ${count(total)}, median of ${rounds} databases)`,
    measured: median(bytes) / total / 1_000,
    atMost,
    unit: 'kB',
  });
  return [target('as left', left, 4.5), target('after VACUUM FULL', compacted, 3)];
}

/** All tables outside of Postgres's own schemas, with their indexes and TOAST. */
export async function storedBytes(url: string): Promise<number> {
  const [row] = await query(
    url,
    `select coalesce(sum(pg_total_relation_size(c.oid)), 0) as bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
  );
  return Number(row!.bytes);
}
