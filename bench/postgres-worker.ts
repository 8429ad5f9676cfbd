/** A worker of the Postgres suite in a process of its own: Holdfast's, or as many plain loops as Holdfast has lanes. */
import { createTasks, durableTool } from '../src/index.ts';
import { openPostgres } from '../src/postgres.ts';
import { type Life, PlainLoop } from './plain-loop.ts';

export interface WorkerPlan {
  readonly url: string;
  readonly schema: string;
  /** Tasks at the same time. */
  readonly places: number;
  /** With it, plain loops; without, Holdfast. */
  readonly plain?: { readonly life: Life; readonly loops: number };
}

/** What the worker is told: to say when so many tasks more are done. */
export interface Wanted {
  readonly total: number;
}

export type Said =
  | { readonly said: 'ready' | 'done' }
  /** By a clock that all processes of a machine share. */
  | { readonly said: 'began'; readonly id: string; readonly atMs: number };

export const connections = 10;
export const nothing = durableTool('nothing', { task: 'always' }, async () => undefined);
export const stamp = durableTool('stamp', {}, async (_, task) => {
  say({ said: 'began', id: task.id, atMs: monotonicMs() });
});

export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function say(said: Said): void {
  process.send!(said);
}

async function work(plan: WorkerPlan): Promise<void> {
  const { url, schema, places, plain } = plan;
  if (plain) {
    const { loops, life } = plain;
    const loop = new PlainLoop(url, schema, life, connections);
    process.on('message', async ({ total }: Wanted) => {
      await loop.advanceAll(total, { loops, limit: Math.ceil(places / loops) });
      say({ said: 'done' });
    });
    process.once('disconnect', () => void loop.close());
    return;
  }
  const database = await openPostgres(url, { schema, connections });
  let left = Number.POSITIVE_INFINITY;
  let done = 0;
  const tell = () => {
    if (done < left) return;
    done -= left;
    left = Number.POSITIVE_INFINITY;
    say({ said: 'done' });
  };
  database.store.subscribe(({ events }) => {
    if (!events.some(({ type }) => type === 'finished')) return;
    done++;
    tell();
  });
  process.on('message', ({ total }: Wanted) => {
    left = total;
    tell();
  });
  const tasks = createTasks({ store: database, tools: [nothing, stamp] });
  await tasks.work({ concurrency: places });
  process.once('disconnect', () => void tasks.close());
}

if (import.meta.main)
  process.once('message', async (plan: WorkerPlan) => {
    await work(plan);
    say({ said: 'ready' });
  });
