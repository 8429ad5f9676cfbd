/** A process of its own, in which nobody catches what escapes: runs every odd value in the given ways, and tells how each task ended. */
import { createTasks } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { sqlite } from 'holdfast/sqlite';
import { neighbour, odd, tools } from './tools.ts';

interface Work {
  readonly store: string;
  readonly cases: readonly { readonly value: string; readonly way: string }[];
}

const atOnce = 12;

let text = '';
for await (const chunk of process.stdin) text += chunk;
const { store, cases } = JSON.parse(text) as Work;
const tasks = createTasks({
  store: store === 'memory:' ? sqlite(store) : postgres(store),
  tools,
});
await tasks.work({ concurrency: 16 });

async function run(input: Work['cases'][number]): Promise<void> {
  const beside = await tasks.create(neighbour as never);
  const { id } = await tasks.create(odd, input);
  const outcome = await tasks.outcome(id);
  const { kind } = await tasks.outcome(beside.id);
  console.log(JSON.stringify({ ...input, outcome, neighbour: kind }));
}

const left = cases.values();
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (const one of left) await run(one);
  }),
);
await tasks.close();
console.log(JSON.stringify({ over: true }));
