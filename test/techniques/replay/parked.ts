/** Parks many passes and prints what is left of them. Run with --expose-gc. */
import { setTimeout as pause } from 'node:timers/promises';
import { inLanes } from '../../kit/lanes.ts';
import { onePassOf } from './host.ts';
import { World } from './world.ts';

const passes = 10_000;
let collected = 0;
const graves = new FinalizationRegistry(() => collected++);

/** Holds a kilobyte in every way in which handlers hold on to things while they wait. */
async function park(): Promise<void> {
  const end = await onePassOf(new World(1), async (task) => {
    const held = { bytes: new Array(128).fill(0) };
    graves.register(held, undefined);
    await task.step('before', () => 1);
    task.signal.addEventListener('abort', () => held.bytes.pop());
    try {
      const waits = [task.ask('one', { roots: true }), task.waitForEvent('other'), task.sleep('1h')];
      await Promise.race([...waits, Promise.all(waits.map((wait) => wait.then(() => held.bytes.pop())))]);
    } finally {
      held.bytes.pop();
    }
  });
  if (end.type !== 'parked') throw new Error(`The pass ended as ${end.type}.`);
}

async function heapAfter(count: number): Promise<number> {
  await inLanes(Array(count).keys(), 100, park);
  for (let n = 0; n < 5; n++) {
    await pause(10);
    globalThis.gc!();
  }
  return process.memoryUsage().heapUsed;
}

const before = await heapAfter(1_000);
const after = await heapAfter(passes);
console.log(JSON.stringify({ parked: passes + 1_000, collected, grownMb: (after - before) / 2 ** 20 }));
