import { expect, test } from 'vitest';
import { fire, fireOnStdio, seedOfThisRun } from './campaign.ts';
import { Scene } from './scene.ts';
import { StdioScene } from './stdio-scene.ts';

const seed = seedOfThisRun();

test('a hundred thousand bad messages over HTTP are answered as each deserves, and hurt nothing', async () => {
  await using scene = await Scene.open();
  const tally = await fire(scene, seed, 100_000);
  console.log(tally.summary);
  expect(tally.problems.slice(0, 10)).toEqual([]);
  expect(tally.sent).toBeGreaterThanOrEqual(100_000);
  expect(await scene.finish()).toEqual([]);
});

test('ten thousand bad messages over one stdio connection are answered as each deserves, and hurt nothing', async () => {
  await using scene = await StdioScene.open();
  const tally = await fireOnStdio(scene, seed, 10_000);
  console.log(tally.summary);
  expect(tally.problems.slice(0, 10)).toEqual([]);
  expect(tally.sent).toBeGreaterThanOrEqual(10_000);
  expect(await scene.stage.finish()).toEqual([]);
  expect(await scene.end()).toEqual([0, null]);
  expect(scene.strays).toEqual([]);
});
