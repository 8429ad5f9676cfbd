/** One handler that starts many subtasks and awaits them all, with default options, and what that costs. */
import { createTasks, type Database, type DurableTool, durableTool } from 'holdfast';
import { z } from 'zod';

export const leaf = durableTool('leaf', { task: 'always' }, async () => 'leaf');
export const root = durableTool(
  'root',
  { task: 'always', inputSchema: z.object({ subtasks: z.number() }) },
  async ({ subtasks }, task) => {
    const started = await Promise.all(Array.from({ length: subtasks }, () => task.start(leaf)));
    await Promise.all(started.map((one) => one.result()));
    return `${subtasks}`;
  },
);

export interface Costs {
  readonly msPerSubtask: number;
  /** … of this thread's own time. */
  readonly workMsPerSubtask: number;
  /** For how long the event loop did nothing else, at most, in milliseconds of this thread's own time. */
  readonly longestHoldMs: number;
  /** How long a poll of the root took while its subtasks lived: the median, in the same time. */
  readonly pollMs: number;
  /** … and once all was over. */
  readonly laterPollMs: number;
}

export async function fanOut(store: () => Promise<Database>, subtasks: number): Promise<Costs> {
  const tasks = createTasks({ store, tools: [leaf, root] as unknown as DurableTool[] });
  try {
    await tasks.work();
    const requests = await tasks.requests();
    const { id } = await tasks.create(root, { subtasks });
    const holds = new Holds();
    const polls: number[] = [];
    let isOver = false;
    const polling = (async () => {
      while (!isOver) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        const from = performance.now();
        const tree = await requests.tree(id);
        if (tree && tree.root.liveChildCount > 0) polls.push(performance.now() - from);
      }
    })();
    const worked = threadMs();
    const from = performance.now();
    const outcome = await tasks.outcome(id);
    const ms = performance.now() - from;
    const workMs = threadMs() - worked;
    isOver = true;
    await polling;
    const longestHoldMs = holds.end();
    if (outcome.kind !== 'result' || outcome.isError) throw new Error(JSON.stringify(outcome).slice(0, 500));
    const later: number[] = [];
    for (let n = 0; n < 20; n++) {
      const began = performance.now();
      await requests.tree(id);
      later.push(performance.now() - began);
    }
    return {
      msPerSubtask: ms / subtasks,
      workMsPerSubtask: workMs / subtasks,
      longestHoldMs,
      pollMs: median(polls),
      laterPollMs: median(later),
    };
  } finally {
    await tasks.close();
  }
}

/**
 * The longest that this thread worked without giving the event loop back. Its own processor time is counted: on a busy
 * machine it also waits for the processor, which says nothing about the work.
 */
export class Holds {
  #longest = 0;
  #before = threadMs();
  readonly #timer = setInterval(() => {
    const now = threadMs();
    this.#longest = Math.max(this.#longest, now - this.#before);
    this.#before = now;
  }, 1);

  end(): number {
    clearInterval(this.#timer);
    return this.#longest;
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
