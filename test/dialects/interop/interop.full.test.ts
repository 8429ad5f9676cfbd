/** The cases of `npm run interop`, one test each, but for those of the gateway. */
import { afterAll, test } from 'vitest';
import { direct } from './cases.ts';
import { World } from './world.ts';

const world = new World();
afterAll(() => world[Symbol.asyncDispose]());

for (const [title, run] of Object.entries(direct)) test.concurrent(title, () => run(world));
