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

export async function fanOut(store: () => Promise<Database>, subtasks: number) {
  const tasks = createTasks({ store, tools: [leaf, root] as unknown as DurableTool[] });
  try {
    await tasks.work();
    const requests = await tasks.requests();
    const { id } = await tasks.create(root, { subtasks });
    const longestHold = holds();
    const poll = async () => {
      const from = performance.now();
      const tree = await requests.tree(id);
      return { ms: performance.now() - from, isLive: (tree?.root.liveChildCount ?? 0) > 0 };
    };
    const polls: number[] = [];
    let isOver = false;
    const polling = (async () => {
      while (!isOver) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        const { ms, isLive } = await poll();
        if (isLive) polls.push(ms);
      }
    })();
    const worked = threadMs();
    const from = performance.now();
    const outcome = await tasks.outcome(id);
    const ms = performance.now() - from;
    const workMs = threadMs() - worked;
    isOver = true;
    await polling;
    const longestHoldMs = longestHold();
    if (outcome.kind !== 'result' || outcome.isError) throw new Error(JSON.stringify(outcome).slice(0, 500));
    const later: number[] = [];
    for (let n = 0; n < 20; n++) later.push((await poll()).ms);
    return {
      msPerSubtask: ms / subtasks,
      // … of this thread's own time, as the next one is too.
      workMsPerSubtask: workMs / subtasks,
      longestHoldMs,
      // Of the root, while its subtasks lived, and once all was over.
      pollMs: median(polls),
      laterPollMs: median(later),
    };
  } finally {
    await tasks.close();
  }
}

/**
 * Measures until it is called: the longest that this thread worked without giving the event loop back. Its own
 * processor time is counted: on a busy machine it also waits for the processor, which says nothing about the work.
 */
function holds(): () => number {
  let longest = 0;
  let before = threadMs();
  const timer = setInterval(() => {
    const now = threadMs();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
