import { test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import { keptSeeds as kept } from './campaign.ts';
import { fireOverAPipe, fireOverHttp } from './servers.ts';
import { sessionDialects } from './session-methods.ts';

const seed = seedOfThisRun();

test('a hundred thousand bad messages over HTTP, of every dialect, are answered as each deserves, and hurt nothing', async () => {
  const messages = 100_000;
  (await fireOverHttp({ messages, seed, kept })).expectUnhurt(messages);
});

test.each(sessionDialects)(
  'in $name, two thousand bad messages over a pipe are answered as each deserves, and hurt nothing',
  async (dialect) => {
    const messages = 2_000;
    (await fireOverAPipe(dialect, { messages, seed, kept })).expectUnhurt(messages);
  },
);
