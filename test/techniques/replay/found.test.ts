/** What random handlers, and reading with them in mind, brought to light, each as briefly as it can be told. */
import { expect, test } from 'vitest';
import type { Pass } from '../../../src/engine/replay/pass.ts';
import { type HandlerByHand, onePassOf, toTheEnd } from './host.ts';
import { World } from './world.ts';

test('two calls that wait for the same event get values of their own, live as on replay', async () => {
  const world = new World(1);
  const handler: HandlerByHand = async (task) => {
    const [one, other] = (await Promise.all([task.waitForEvent('x'), task.waitForEvent('x')])) as {
      list?: number[];
    }[];
    one!.list = [1];
    return other!.list ?? 'none';
  };
  world.expects('x');
  world.happen('complete x');
  const end = { type: 'returned', value: 'none' };
  expect(await onePassOf(world, handler)).toEqual(end);
  expect(await onePassOf(world, handler)).toEqual(end);
});

test('a failed attempt is recorded before the next one begins', async () => {
  const world = new World(1);
  const attempts: number[] = [];
  const handler: HandlerByHand = (task) =>
    task.step(
      'flaky',
      ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 3) throw new Error('Not yet');
        return 'at last';
      },
      { retry: { attempts: 3, delay: 0 } },
    );
  while ((await onePassOf(world, handler, { diesAfter: 1 })).type === 'stopped');
  expect(attempts).toEqual([1, 2, 3]);
});

test('a pass that rests between two attempts parks, whatever else happens to its task', async () => {
  const world = new World(1);
  world.expects('something else');
  const handler: HandlerByHand = (task) =>
    task.step(
      'flaky',
      ({ attempt }) => {
        if (attempt === 1) throw new Error('Not yet');
        return 'at last';
      },
      { retry: { attempts: 2, delay: '1h' } },
    );
  let commits = 0;
  const duringCommit = () => {
    if (++commits === 3) world.happen('complete something else');
  };
  expect(await onePassOf(world, handler, { duringCommit })).toEqual({ type: 'parked' });
  expect(commits).toBeGreaterThan(3);
  expect(await toTheEnd(world, handler)).toEqual({ type: 'returned', value: 'at last' });
});

test('a look of a poll that outlasts the time-out is waited for, and counts', async () => {
  const world = new World(1);
  const look = Promise.withResolvers<string>();
  const handler: HandlerByHand = (task) =>
    Promise.all([
      task.waitForCondition('ready', () => look.promise, { every: 1, timeout: 5 }),
      (async () => {
        await task.sleep(60);
        look.resolve('late');
      })(),
    ]);
  const running = onePassOf(world, handler);
  while (!world.happenings().some(({ name }) => name.startsWith('time')))
    await new Promise((resolve) => setImmediate(resolve));
  world.happen('time');
  expect(await running).toEqual({ type: 'returned', value: ['late', undefined] });
});

test('a promise that breaks loose while a commit is under way ends the pass with its error', async () => {
  const error = new Error('Nobody awaited this');
  const handler: HandlerByHand = (task) => task.step('innocent', () => 1);
  const end = await onePassOf(new World(1), handler, { duringCommit: (pass) => pass.failUnhandled(error) });
  expect(end).toEqual({ type: 'threw', error });
});

test('an end of the handler while a commit is under way is never taken for a change of the handler', async () => {
  const release = Promise.withResolvers<void>();
  const handler: HandlerByHand = async (task) => {
    void task.step('forgotten', () => 1);
    await release.promise;
  };
  const end = await onePassOf(new World(1), handler, { duringCommit: () => release.resolve() });
  expect(end).toMatchObject({
    type: 'threw',
    error: { message: expect.stringMatching(/^The end of the handler/) },
  });
});

test('a pass that is asked to stop commits what is in flight, and its handler may end in the middle of that', async () => {
  const world = new World(1);
  const slow = Promise.withResolvers<string>();
  const handler: HandlerByHand = (task) =>
    Promise.race([task.step('quick', () => 'quick'), task.step('slow', () => slow.promise)]);
  const duringCommit = (pass: Pass) => {
    pass.yield();
    setImmediate(() => slow.resolve('slow'));
  };
  expect(await onePassOf(world, handler, { duringCommit })).toEqual({ type: 'stopped' });
  expect(world.journal().entries).toHaveLength(2);
  expect(await onePassOf(world, handler)).toEqual({ type: 'returned', value: 'quick' });
});
