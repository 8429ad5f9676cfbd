/** The cases of `npm run interop`, one test each. */
import { afterAll, beforeAll, test } from 'vitest';
import { runCase } from './case.ts';
import { cases } from './cases.ts';
import { World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world[Symbol.asyncDispose]());

// Each has its own limit, which begins when it is its turn.
for (const interop of cases) test.concurrent(interop.title, () => runCase(interop, world), 120_000);
