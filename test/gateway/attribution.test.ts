/** Attribution of a question to one of several calls, if the upstream does not name the call. */
import { expect, test } from 'vitest';
import { Attribution, NotAttributed } from '../../src/gateway/upstream/upstream.ts';
import { UpstreamCall } from '../../src/gateway/upstream/upstream-call.ts';
import { anonymous } from '../../src/task-methods/caller.ts';

test('the last of several calls of one owner is chosen at once', async () => {
  const [first, last] = [new UpstreamCall('ada'), new UpstreamCall('ada')];
  expect(await new Attribution().attribute(() => [first, last])).toBe(last);
});

test('with several known owners a question waits until only one call is left, and no further call starts', async () => {
  const attribution = new Attribution();
  const [ada, bob] = [new UpstreamCall('ada'), new UpstreamCall('bob')];
  const open = new Set([ada, bob]);
  const asking = attribution.attribute(() => [...open]);
  let hasStarted = false;
  const other = attribution.settled!.then(() => {
    hasStarted = true;
  });
  await new Promise(setImmediate);
  expect(hasStarted).toBe(false);
  open.delete(bob);
  attribution.recheck();
  expect(await asking).toBe(ada);
  await other;
  expect(attribution.settled).toBeUndefined();
});

test('a question without candidates is rejected', async () => {
  await expect(new Attribution().attribute(() => [])).rejects.toThrow(NotAttributed);
});

test('two simultaneous questions to anonymous callers go to different calls', async () => {
  const attribution = new Attribution();
  const calls = [new UpstreamCall(anonymous), new UpstreamCall(anonymous)];
  const asked = await Promise.all([1, 2].map(() => attribution.attribute(() => calls)));
  expect(new Set(asked)).toEqual(new Set(calls));
});
