/** One handler, and later releases of it that do not fit a task which the first one began. */
import { expect } from 'vitest';
import type { TaskContext } from '../../../src/engine/handlers/context.ts';
import type { HandlerByHand } from './host.ts';

/** The release that began the task, which has come as far as its question. */
export const old: HandlerByHand = async (task) => {
  const found = await task.step('find', () => 'sources');
  const drafts = await Promise.all([
    task.step('draft text', () => `text of ${found}`),
    task.step('draft images', () => `images of ${found}`),
  ]);
  const [roots] = await Promise.all([
    task.ask('where to', { roots: true }),
    task.waitForEvent('embargo lifted'),
  ]);
  return task.step('publish', () => ({ drafts, roots: roots.roots.length }));
};

const steps = (task: TaskContext, ...names: readonly string[]) =>
  Promise.all(names.map((name) => task.step(name, () => 0)));

/** Finds, and then makes these steps. */
const found =
  (...names: readonly string[]): HandlerByHand =>
  async (task) => {
    await steps(task, 'find');
    await steps(task, ...names);
  };

/** As far as the question, and then this. */
const drafted =
  (rest: HandlerByHand): HandlerByHand =>
  async (task) => {
    await found('draft text', 'draft images')(task);
    await rest(task);
  };

/** How it is told that the handler makes another call than the recorded one, or ends before it. */
const now = (recorded: string, made: string) =>
  `the journal has task.${recorded}, but the handler now calls task.${made}`;
const ended = (recorded: string) => `the handler ended, but the journal has task.${recorded} before that`;

/** What changed, the release that brought it, and how the difference is told. */
export const changes: readonly [string, HandlerByHand, unknown][] = [
  ['a step was renamed', (task) => steps(task, 'look for'), now('step("find")', 'step("look for")')],
  ['a step was removed', found('draft images'), now('step("draft text")', 'step("draft images")')],
  [
    'a step was removed from the end of parallel ones',
    found('draft text'),
    'the handler no longer calls task.step("draft images")',
  ],
  ['a step was added between others', found('check'), now('step("draft text")', 'step("check")')],
  [
    'a step was added beside the first',
    (task) => steps(task, 'find', 'check'),
    now('step("draft text")', 'step("check")'),
  ],
  [
    'two steps were reordered',
    found('draft images', 'draft text'),
    now('step("draft text")', 'step("draft images")'),
  ],
  [
    'a step is made before another has ended',
    (task) => steps(task, 'find', 'draft text', 'draft images'),
    'task.step("draft text") was called after 1 entry, but the handler now calls it after 0 entries',
  ],
  [
    'a step became a poll',
    (task) => task.waitForCondition('find', () => true, { every: '1s' }),
    now('step("find")', 'waitForCondition("find")'),
  ],
  [
    'the open question was removed, and its neighbour stays',
    drafted((task) => task.waitForEvent('embargo lifted')),
    now('ask("where to")', 'waitForEvent("embargo lifted")'),
  ],
  [
    'the open question was removed, and the next step is made at once',
    drafted((task) => steps(task, 'publish')),
    now('ask("where to")', 'step("publish")'),
  ],
  [
    'another call was added beside the open question',
    drafted((task) =>
      Promise.all([
        task.ask('where to', { roots: true }),
        task.waitForEvent('embargo lifted'),
        task.sleep('1d'),
      ]),
    ),
    'the handler now calls task.sleep(), but the journal has no call there',
  ],
  ['the handler returns before the open question', drafted(async () => {}), ended('ask("where to")')],
  ['the handler returns after its first step', found(), ended('step("draft text")')],
  ['the handler throws at once', () => Promise.reject(new Error('Not any more')), ended('step("find")')],
  [
    'the handler reads the clock outside a step',
    (task) => steps(task, `find at ${performance.now()}`),
    expect.stringMatching(
      /^the journal has task\.step\("find"\), but the handler now calls task\.step\("find at \d/,
    ),
  ],
  [
    'the handler reads a random number outside a step',
    (task) => found(...(Math.random() < 2 ? ['draft nothing'] : []))(task),
    now('step("draft text")', 'step("draft nothing")'),
  ],
];
