/** A process of its own, in which nobody catches what escapes: runs every odd value in the given ways, and tells how each task ended. */
import { createTasks } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { sqlite } from 'holdfast/sqlite';
import { inLanes } from '../../kit/lanes.ts';
import type { Case } from './in-process.ts';
import { neighbour, odd, tools } from './tools.ts';

const atOnce = 12;

let text = '';
for await (const chunk of process.stdin) text += chunk;
const { store, cases } = JSON.parse(text) as { readonly store: string; readonly cases: readonly Case[] };
const tasks = createTasks({ store: store === 'memory:' ? sqlite(store) : postgres(store), tools });
// Huge values block the event loop of a busy machine for long. That is not what is examined here.
await tasks.work({ concurrency: 16, watchdog: 'off' });

async function run(input: Case): Promise<void> {
  const beside = await tasks.create(neighbour as never);
  const { id } = await tasks.create(odd, input);
  const outcome = await tasks.outcome(id);
  const { kind } = await tasks.outcome(beside.id);
  console.log(JSON.stringify({ ...input, outcome, neighbour: kind }));
}

await inLanes(cases, atOnce, run);
await tasks.close();
console.log(JSON.stringify({ over: true }));
