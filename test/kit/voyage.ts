/** A durable tool of several steps; as a program, a worker for it in a process of its own: `voyage.ts PLACE`. */
import { appendFileSync, existsSync } from 'node:fs';
import { createTasks, durableTool } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { sqlite } from 'holdfast/sqlite';
import { z } from 'zod';

/** Each step leaves a line in a file; the fourth waits for another file, so that somebody can kill it there. */
export const voyage = durableTool(
  'voyage',
  { inputSchema: z.object({ log: z.string(), gate: z.string() }) },
  async ({ log, gate }, task) => {
    for (const name of ['cast off', 'set sail', 'round the cape', 'wait for wind', 'moor'])
      await task.step(name, async () => {
        appendFileSync(log, `${name}\n`);
        while (name === 'wait for wind' && !existsSync(gate))
          await new Promise((resolve) => setTimeout(resolve, 20));
        return name;
      });
    return 'Arrived.';
  },
);

if (import.meta.main) {
  const [place] = process.argv.slice(2) as [string];
  const store = place.startsWith('postgres') ? postgres(place) : sqlite(place);
  await createTasks({ tools: [voyage], store }).work();
}
