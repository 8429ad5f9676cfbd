import { expect, test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import { fire, isQuick } from './campaign.ts';
import { openScene } from './scene.ts';

const seed = seedOfThisRun();
const messages = isQuick ? 200 : 3_000;

test('S2026-01 S2026-02 S2026-03 S2026-12 S2322-14 S2663-09 S2663-55 S2663-67 S2663-73 S2663-74 S2663-76 S2663-90 S2663-91 S2663-95 S2663-98 S2663-99: three thousand bad messages over HTTP are answered as each deserves, and hurt nothing', {
  timeout: 180_000,
}, async ({ task }) => {
  const scene = await openScene();
  const tally = await fire([scene], { messages, seed });
  tally.expectUnhurt(messages);
  expect([...tally.rows].sort()).toEqual(task.name.match(/S\d+-\d+/g));
});
