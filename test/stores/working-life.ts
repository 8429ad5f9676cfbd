/** A process that carries out tasks that others create: `working-life.ts <file>`. It prints a line when it works. */
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

/** A clock that all processes of a machine share, in milliseconds. */
export function sharedClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Returns when its handler began. */
export const began = durableTool('began', { inputSchema: z.object({}) }, async () => String(sharedClock()));

if (import.meta.main) {
  const tasks = createTasks({ tools: [began], store: sqlite(process.argv[2]!) });
  await tasks.work();
  console.log('works');
}
