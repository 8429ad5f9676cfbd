/** A durable tool that says something long again and again, each time in a commit of its own. */
import { durableTool } from 'holdfast';
import { z } from 'zod';

export const chatter = durableTool(
  'chatter',
  {
    description: 'Says something long again and again.',
    task: 'always',
    inputSchema: z.object({ times: z.int().min(0), bytes: z.int().min(0) }),
  },
  async ({ times, bytes }, task) => {
    for (let n = 1; n <= times; n++) {
      task.progress(n, times, '.'.repeat(bytes));
      await task.step(`saying ${n}`, () => null);
    }
    return { content: [{ type: 'text', text: 'said' }] };
  },
);
