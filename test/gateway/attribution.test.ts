/** Which of several calls asks, where the upstream does not say. */
import { expect, test } from 'vitest';
import { Attribution, NotAttributed } from '../../src/gateway/upstream/upstream.ts';
import { UpstreamCall } from '../../src/gateway/upstream/upstream-call.ts';
import { anonymous } from '../../src/task-methods/caller.ts';

test('of several calls of one person the last is taken at once', async () => {
  const [first, last] = [new UpstreamCall('ada'), new UpstreamCall('ada')];
  expect(await new Attribution().onlyOne(() => [first, last])).toBe(last);
});

test('people who are known are told apart by waiting until only one is left, and others begin nothing meanwhile', async () => {
  const attribution = new Attribution();
  const [ada, bob] = [new UpstreamCall('ada'), new UpstreamCall('bob')];
  const underWay = new Set([ada, bob]);
  const asking = attribution.onlyOne(() => [...underWay]);
  let hasBegun = false;
  const other = attribution.settled!.then(() => {
    hasBegun = true;
  });
  await new Promise(setImmediate);
  expect(hasBegun).toBe(false);
  underWay.delete(bob);
  attribution.look();
  expect(await asking).toBe(ada);
  await other;
  expect(attribution.settled).toBeUndefined();
});

test('a question of nobody is refused', async () => {
  await expect(new Attribution().onlyOne(() => [])).rejects.toThrow(NotAttributed);
});

test('of callers that nobody can tell apart, two questions at the same time go to one call each', async () => {
  const attribution = new Attribution();
  const calls = [new UpstreamCall(anonymous), new UpstreamCall(anonymous)];
  const asked = await Promise.all([1, 2].map(() => attribution.onlyOne(() => calls)));
  expect(new Set(asked)).toEqual(new Set(calls));
});
