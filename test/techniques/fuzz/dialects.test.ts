import { test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import { isQuick, keptSeeds } from './campaign.ts';
import { fireOverAPipe, fireOverHttp } from './servers.ts';
import { sessionDialects } from './session-methods.ts';

const seed = seedOfThisRun();
const timeout = 120_000;

test('four thousand bad messages over HTTP, of every dialect, are answered as each deserves, and hurt nothing', {
  timeout,
}, async () => {
  const messages = isQuick ? 70 : 4_000;
  (await fireOverHttp({ messages, seed, kept: isQuick ? [] : keptSeeds })).expectUnhurt(messages);
});

// The rest of the five thousand.
test.for(sessionDialects)(
  'in $name, bad messages over a pipe are answered as each deserves, and hurt nothing',
  {
    timeout,
  },
  async (dialect, { skip }) => {
    skip(isQuick && sessionDialects[seed % sessionDialects.length] !== dialect, 'not of this seed');
    const messages = isQuick ? 28 : Math.ceil(1_000 / sessionDialects.length);
    (await fireOverAPipe(dialect, { messages, seed })).expectUnhurt(messages);
  },
);
