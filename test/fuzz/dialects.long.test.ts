import { test } from 'vitest';
import { seedOfThisRun } from './campaign.ts';
import { fireOverAPipe, fireOverHttp } from './dialects.ts';
import { expectUnhurt } from './expect-unhurt.ts';
import { keptSeeds } from './kept-seeds.ts';
import { sessionDialects } from './session-methods.ts';

const seed = seedOfThisRun();

test('a hundred thousand bad messages over HTTP, of every dialect, are answered as each deserves, and hurt nothing', async () => {
  const messages = 100_000;
  expectUnhurt(await fireOverHttp({ messages, seed, kept: keptSeeds }), messages);
});

test.each(sessionDialects)(
  'in $name, two thousand bad messages over a pipe are answered as each deserves, and hurt nothing',
  async (dialect) => {
    const messages = 2_000;
    expectUnhurt(await fireOverAPipe(dialect, { messages, seed, kept: keptSeeds }), messages);
  },
);
