/** `npm run interop`: real clients, as their authors publish them, against the fixture server. */
import { type InteropCase, runCase } from '../test/interop/case.ts';
import { cases } from '../test/interop/cases.ts';
import { World } from '../test/interop/world.ts';

// What a case that failed was still waiting for fails when its client is closed.
process.on('unhandledRejection', (error: Error) => console.log(`left behind: ${error.message}`));

const world = await World.open();

async function report(interop: InteropCase): Promise<boolean> {
  try {
    await runCase(interop, world);
    console.log(`ok ${interop.title}`);
    return true;
  } catch (error) {
    console.log(`FAILED ${interop.title}: ${(error as Error).message.replaceAll(/\s+/g, ' ').trim()}`);
    return false;
  }
}

const passed = (await Promise.all(cases.map(report))).filter(Boolean).length;
const failed = cases.length - passed;
await world[Symbol.asyncDispose]();
console.log(`interop: ${passed} passed, ${failed} failed`);
// A client whose case was not over in time would keep this process alive.
process.exit(failed === 0 ? 0 : 1);
