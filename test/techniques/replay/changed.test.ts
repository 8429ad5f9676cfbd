import { expect, test } from 'vitest';
import { type HandlerByHand, onePassOf, toTheEnd } from './host.ts';
import { changes, old } from './releases.ts';
import { World } from './world.ts';

const finished = {
  type: 'returned',
  value: { drafts: ['text of sources', 'images of sources'], roots: 1 },
};

/** Its question is open, and it is awake because the embargo was lifted. */
async function begun(): Promise<World> {
  const world = new World(1);
  world.expects('embargo lifted');
  expect(await onePassOf(world, old)).toEqual({ type: 'parked' });
  world.happen('complete embargo lifted');
  return world;
}

test.each(changes)('%s: the pass says so, and the old handler finishes', async (_, handler, message) => {
  const world = await begun();
  const before = world.records();
  const end = await onePassOf(world, handler);
  expect(end).toEqual({ type: 'changed', message });
  expect(world.records()).toEqual(before);
  expect(await toTheEnd(world, old)).toEqual(finished);
});

test('what comes after everything that is recorded may change', async () => {
  const world = await begun();
  const handler: HandlerByHand = async (task) => {
    await task.step('find', () => 0);
    await Promise.all([task.step('draft text', () => 0), task.step('draft images', () => 0)]);
    await Promise.all([task.ask('where to', { roots: true }), task.waitForEvent('embargo lifted')]);
    await task.step('check', () => 0);
    return task.step('announce', () => 'announced');
  };
  expect(await toTheEnd(world, handler)).toEqual({ type: 'returned', value: 'announced' });
});

test('a changed handler runs none of its steps, new ones included', async () => {
  const world = await begun();
  const ran: string[] = [];
  const end = await onePassOf(world, async (task) => {
    await task.step('find', () => ran.push('find'));
    await Promise.all([task.step('check', () => ran.push('check')), task.step('draft text', () => 0)]);
  });
  expect(end.type).toBe('changed');
  expect(ran).toEqual([]);
});
