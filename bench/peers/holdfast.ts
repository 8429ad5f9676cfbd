import { z } from 'zod';
import { createTasks, durableTool } from '../../src/index.ts';
import { openDatabase } from '../worker-process.ts';
import { type Peer, type Setting, steps, stepValue } from './adapter.ts';

const inputSchema = z.object({ n: z.number() });

export async function open({ location, isWorker, concurrency, began, returned }: Setting): Promise<Peer> {
  const tools = {
    nothing: durableTool('nothing', { inputSchema }, async ({ n }) => {
      began(n);
      returned();
    }),
    fiveSteps: durableTool('fiveSteps', { inputSchema }, async ({ n }, task) => {
      began(n);
      for (const step of steps) await task.step(`step ${step}`, () => stepValue(step));
      returned();
    }),
  };
  const tasks = createTasks({ store: () => openDatabase(location), tools: Object.values(tools) });
  await tasks.opened();
  if (isWorker) await tasks.work(concurrency === undefined ? {} : { concurrency });
  return {
    async start(workflow, n) {
      const { id } = await tasks.create(tools[workflow], { n });
      return () => tasks.outcome(id);
    },
    close: () => tasks.close(),
  };
}
