/** A process that makes a task for others to carry out, and has nothing to do but to wait for it: `waiting-life.ts <place>`. */
import { createTasks, durableTool } from 'holdfast';
import { z } from 'zod';
import { open } from './open.ts';

export const wave = durableTool('wave', { inputSchema: z.object({}) }, async () => 'waved');

if (import.meta.main) {
  const tasks = createTasks({ tools: [wave], store: () => open(process.argv[2]!) });
  const { id } = await tasks.create(wave, {});
  console.log(id);
  console.log((await tasks.outcome(id)).kind);
  await tasks.close();
}
