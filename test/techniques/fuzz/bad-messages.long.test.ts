import { expect, test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import { fire } from './campaign.ts';
import { openScene } from './scene.ts';
import { StdioScene } from './stdio-scene.ts';

const seed = seedOfThisRun();

test('a hundred thousand bad messages over HTTP are answered as each deserves, and hurt nothing', async () => {
  const messages = 100_000;
  const scene = await openScene();
  (await fire([scene], { messages, seed })).expectUnhurt(messages);
});

test('ten thousand bad messages over one stdio connection are answered as each deserves, and hurt nothing', async () => {
  const messages = 10_000;
  await using scene = await StdioScene.open();
  (await fire([scene], { messages, seed })).expectUnhurt(messages);
  expect(await scene.end()).toEqual({ code: 0, signal: null });
  expect(scene.strays).toEqual([]);
});
