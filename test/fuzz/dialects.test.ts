import { test } from 'vitest';
import { seedOfThisRun } from './campaign.ts';
import { fireOverAPipe, fireOverHttp } from './dialects.ts';
import { expectUnhurt } from './expect-unhurt.ts';
import { keptSeeds } from './kept-seeds.ts';
import { sessionDialects } from './session-methods.ts';

const seed = seedOfThisRun();
const timeout = 120_000;

test('four thousand bad messages over HTTP, of every dialect, are answered as each deserves, and hurt nothing', {
  timeout,
}, async () => {
  const messages = 4_000;
  expectUnhurt(await fireOverHttp({ messages, seed, kept: keptSeeds }), messages);
});

// The rest of the five thousand.
test.each(sessionDialects)(
  'in $name, bad messages over a pipe are answered as each deserves, and hurt nothing',
  {
    timeout,
  },
  async (dialect) => {
    const messages = Math.ceil(1_000 / sessionDialects.length);
    expectUnhurt(await fireOverAPipe(dialect, { messages, seed, kept: [] }), messages);
  },
);
