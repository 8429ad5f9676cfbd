/** `npm run interop`: real clients, as their authors publish them, against the fixture server. */
import { setTimeout as pause } from 'node:timers/promises';
import { direct, gateway } from '../test/dialects/interop/cases.ts';
import { World } from '../test/dialects/interop/world.ts';

/** Most of a case is waiting for the next poll, but some start four processes. */
const casesAtOnce = 3;
const timeoutMs = 120_000;

// What a case that failed was still waiting for fails when its client is closed.
process.on('unhandledRejection', (error: Error) => console.log(`left behind: ${error.message}`));

const world = new World();
const cases = Object.entries({ ...direct, ...gateway });
const queue = cases.values();
let passed = 0;

async function late(): Promise<never> {
  await pause(timeoutMs, undefined, { ref: false });
  throw new Error(`It was not over after ${timeoutMs / 1_000} s.`);
}

async function work(): Promise<void> {
  for (const [title, run] of queue)
    try {
      await Promise.race([run(world), late()]);
      console.log(`ok ${title}`);
      passed++;
    } catch (error) {
      console.log(`FAILED ${title}: ${(error as Error).message.replaceAll(/\s+/g, ' ').trim()}`);
    }
}

await Promise.all(Array.from({ length: casesAtOnce }, work));
const failed = cases.length - passed;
await world[Symbol.asyncDispose]();
console.log(`interop: ${passed} passed, ${failed} failed`);
// A client whose case was not over in time would keep this process alive.
process.exit(failed === 0 ? 0 : 1);
