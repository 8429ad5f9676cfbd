/** A worker of the Postgres suite in its own process: Holdfast's, or plain loops. */
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

/** Plain loops run while they are active. Holdfast's worker always runs. */
export interface ToWorker {
  readonly isActive: boolean;
}

export interface FromWorker {
  /** Tasks that this worker has completed since its last message. */
  readonly completed: number;
}

export const connections = 10;
const ranHere = new Set<string>();
export const nothing = durableTool('nothing', { task: 'always' }, async (_, task) => {
  ranHere.add(task.id);
});

function report(completed: number): void {
  process.send!({ completed } satisfies FromWorker);
}

async function work({ url, schema, places, plain }: WorkerPlan): Promise<void> {
  if (plain) workPlainly(new PlainLoop(url, schema, plain.life, connections), places, plain.loops);
  else await workWithHoldfast(url, schema, places);
}

function workPlainly(loop: PlainLoop, places: number, loops: number): void {
  let isActive = false;
  let running: Promise<unknown> = Promise.resolve();
  process.on('message', (message: ToWorker) => {
    isActive = message.isActive;
    if (!isActive) return;
    running = running.then(() =>
      loop.advanceWhile(() => isActive, { loops, limit: Math.ceil(places / loops) }, report),
    );
  });
  process.once('disconnect', () => void running.then(() => loop.close()));
}

async function workWithHoldfast(url: string, schema: string, places: number): Promise<void> {
  const database = await openPostgres(url, { schema, connections });
  let completed = 0;
  const flush = () => {
    report(completed);
    completed = 0;
  };
  // Every worker is notified of all tasks, including those that other workers completed.
  database.store.subscribe(({ taskId, events }) => {
    if (!events.some(({ type }) => type === 'finished') || !ranHere.delete(taskId)) return;
    if (completed++ === 0) setImmediate(flush);
  });
  const tasks = createTasks({ store: database, tools: [nothing] });
  await tasks.work({ concurrency: places });
  process.once('disconnect', () => void tasks.close());
}

if (import.meta.main)
  process.once('message', async (plan: WorkerPlan) => {
    await work(plan);
    report(0);
  });
