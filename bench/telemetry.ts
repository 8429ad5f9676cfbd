/**
 * The cost of telemetry: empty tasks, created and run to the end without it, with it but no SDK, and with an SDK that
 * drops its spans. The three take turns, so that other load affects all of them equally.
 *
 *   node --conditions=holdfast-source bench/telemetry.ts [FOLDER]     in memory, or in files there
 */
import { join } from 'node:path';
import { NodeTracerProvider, NoopSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { createTasks, durableTool, type Tasks } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { telemetry } from 'holdfast/telemetry';

const tool = durableTool('nothing', {}, async () => {});
const rounds = 60;
const perRound = 1_000;
const lanes = 8;

const [, , folder] = process.argv;
let databases = 0;
const store = () => sqlite(folder === undefined ? 'memory:' : join(folder, `${++databases}.db`));

const sdk = new NodeTracerProvider({ spanProcessors: [new NoopSpanProcessor()] });
const sides = {
  'without telemetry': createTasks({ store: store(), tools: [tool] }),
  'with it, no SDK': createTasks({ store: store(), tools: [tool], telemetry: telemetry() }),
  'with it and an SDK': createTasks({
    store: store(),
    tools: [tool],
    telemetry: telemetry({ tracerProvider: sdk }),
  }),
};

/** Microseconds for each task. */
async function round(tasks: Tasks): Promise<number> {
  const from = performance.now();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let n = 0; n < perRound / lanes; n++) await tasks.outcome((await tasks.create(tool)).id);
    }),
  );
  return ((performance.now() - from) * 1_000) / perRound;
}

const taken = new Map<string, number[]>(Object.keys(sides).map((side) => [side, []]));
for (const tasks of Object.values(sides)) await tasks.work();
for (let n = -3; n < rounds; n++)
  for (const [side, tasks] of Object.entries(sides)) {
    const each = await round(tasks);
    if (n >= 0) taken.get(side)!.push(each);
  }
for (const [side, all] of taken) {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(0);
  console.log(`${side.padEnd(20)} median ${at(0.5)} µs per task (${at(0)} to ${at(1)})`);
}
for (const tasks of Object.values(sides)) await tasks.close();
