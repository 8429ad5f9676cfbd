/** One handler, and later releases of it that do not fit a task which the first one began. */
import type { HandlerByHand } from './by-hand.ts';

/** The release that began the task, which has come as far as its question. */
export const old: HandlerByHand = async (task) => {
  const found = await task.step('find', () => 'sources');
  const drafts = await Promise.all([
    task.step('draft text', () => `text of ${found}`),
    task.step('draft images', () => `images of ${found}`),
  ]);
  const [roots] = await Promise.all([task.ask('where to', { roots: true }), task.event('embargo lifted')]);
  return task.step('publish', () => ({ drafts, roots: roots.roots.length }));
};

/** What changed, the release that brought it, and how the difference is told. */
export const changes: readonly [string, HandlerByHand, RegExp][] = [
  [
    'a step was renamed',
    async (task) => {
      await task.step('look for', () => 0);
    },
    /^the journal has task\.step\("find"\), the handler now makes task\.step\("look for"\)$/,
  ],
  [
    'a step was removed',
    async (task) => {
      await task.step('find', () => 0);
      await Promise.all([task.step('draft images', () => 0)]);
    },
    /^the journal has task\.step\("draft text"\), the handler now makes task\.step\("draft images"\)$/,
  ],
  [
    'a step was removed from the end of parallel ones',
    async (task) => {
      await task.step('find', () => 0);
      await Promise.all([task.step('draft text', () => 0)]);
    },
    /^the handler no longer makes task\.step\("draft images"\)$/,
  ],
  [
    'a step was added between others',
    async (task) => {
      await task.step('find', () => 0);
      await task.step('check', () => 0);
    },
    /^the journal has task\.step\("draft text"\), the handler now makes task\.step\("check"\)$/,
  ],
  [
    'a step was added beside the first',
    async (task) => {
      await Promise.all([task.step('find', () => 0), task.step('check', () => 0)]);
    },
    /^the journal has task\.step\("draft text"\), the handler now makes task\.step\("check"\)$/,
  ],
  [
    'two steps were reordered',
    async (task) => {
      await task.step('find', () => 0);
      await Promise.all([task.step('draft images', () => 0), task.step('draft text', () => 0)]);
    },
    /^the journal has task\.step\("draft text"\), the handler now makes task\.step\("draft images"\)$/,
  ],
  [
    'a step is made before another has ended',
    async (task) => {
      await Promise.all([
        task.step('find', () => 0),
        task.step('draft text', () => 0),
        task.step('draft images', () => 0),
      ]);
    },
    /^task\.step\("draft text"\) was made after 1 entry, the handler now makes it after 0 entries$/,
  ],
  [
    'a step became a poll',
    async (task) => {
      await task.until('find', () => true, { every: '1s' });
    },
    /^the journal has task\.step\("find"\), the handler now makes task\.until\("find"\)$/,
  ],
  [
    'the open question was removed, and its neighbour stays',
    async (task) => {
      await task.step('find', () => 0);
      await Promise.all([task.step('draft text', () => 0), task.step('draft images', () => 0)]);
      await Promise.all([task.event('embargo lifted')]);
    },
    /^the journal has task\.ask\("where to"\), the handler now makes task\.event\("embargo lifted"\)$/,
  ],
  [
    'the open question was removed, and the next step is made at once',
    async (task) => {
      await task.step('find', () => 0);
      await Promise.all([task.step('draft text', () => 0), task.step('draft images', () => 0)]);
      await task.step('publish', () => 0);
    },
    /^the journal has task\.ask\("where to"\), the handler now makes task\.step\("publish"\)$/,
  ],
  [
    'another call was added beside the open question',
    async (task) => {
      await task.step('find', () => 0);
      await Promise.all([task.step('draft text', () => 0), task.step('draft images', () => 0)]);
      await Promise.all([
        task.ask('where to', { roots: true }),
        task.event('embargo lifted'),
        task.sleep('1d'),
      ]);
    },
    /^the handler now makes task\.sleep\(\), the journal has no call there$/,
  ],
  [
    'the handler returns before the open question',
    async (task) => {
      await task.step('find', () => 0);
      await Promise.all([task.step('draft text', () => 0), task.step('draft images', () => 0)]);
    },
    /^the handler ended, the journal has task\.ask\("where to"\) before that$/,
  ],
  [
    'the handler returns after its first step',
    async (task) => {
      await task.step('find', () => 0);
    },
    /^the handler ended, the journal has task\.step\("draft text"\) before that$/,
  ],
  [
    'the handler throws at once',
    async () => {
      throw new Error('Not any more');
    },
    /^the handler ended, the journal has task\.step\("find"\) before that$/,
  ],
  [
    'the handler reads the clock outside a step',
    async (task) => {
      await task.step(`find at ${performance.now()}`, () => 0);
    },
    /^the journal has task\.step\("find"\), the handler now makes task\.step\("find at \d/,
  ],
  [
    'the handler reads a random number outside a step',
    async (task) => {
      await task.step('find', () => 0);
      if (Math.random() < 2) await task.step('draft nothing', () => 0);
    },
    /^the journal has task\.step\("draft text"\), the handler now makes task\.step\("draft nothing"\)$/,
  ],
];
