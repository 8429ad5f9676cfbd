/** The cases of `npm run interop` with servers of others behind the gateway, one test each. */
import { afterAll, test } from 'vitest';
import { World } from '../world.ts';
import { gateway } from './cases.ts';

const world = new World();
afterAll(() => world[Symbol.asyncDispose]());

for (const [title, run] of Object.entries(gateway)) test.concurrent(title, () => run(world));
