/** The operator's commands in a real pseudo-terminal of 80 and 40 columns, with fixed tasks. */
import { afterAll, beforeAll, test } from 'vitest';
import { expectWithin } from '../../kit/within.ts';
import { Home } from '../terminal.ts';
import { OperatorServer, token } from './desk-server.ts';
import { ago, idOf, killed, now, pass, patient, several, step, story, summary } from './stories.ts';

const server = new OperatorServer();
beforeAll(async () => {
  server.tasks = several;
  for (const one of [killed, patient]) server.story = one;
  await server.start();
});
afterAll(async () => {
  await server.stop();
});

const env = { HOLDFAST_OPERATOR_TOKEN: token, TZ: 'UTC', LC_ALL: 'C.UTF-8' };
const open = (args: string[], size: { columns?: number; rows?: number } = {}, more: NodeJS.ProcessEnv = {}) =>
  new Home({ ...env, ...more }).open(['tasks', ...args, '--url', server.url], size);
const shown = (screen: string) => `${screen.replace(/127\.0\.0\.1:[\d\n]*\d/g, '127.0.0.1:PORT')}\n`;

/** A screen without the times of a live view. */
const unhurried = (screen: string) =>
  shown(screen)
    .replace(/^12:0\d:\d\d/, '12:00:00')
    .replace(/PORT +q/, 'PORT  q')
    .replace(/(?<![.\d])\d+ s\b/g, 'N s');

test.concurrent.for([80, 40, 160])('a list of tasks, %i columns wide', async (columns, { expect }) => {
  const terminal = open(['list'], { columns });
  expect(await terminal.ended).toBe(0);
  await expect(shown(terminal.screen.text)).toMatchFileSnapshot(`screens/list-${columns}.txt`);
  expect(terminal.screen.hasBrokenLines).toBe(false);
});

test.concurrent.for([80, 40])(
  'a crashed process and the take-over, %i columns wide',
  async (columns, { expect }) => {
    const terminal = open(['show', killed.task.id], { columns, rows: 80 });
    expect(await terminal.ended).toBe(0);
    await expect(shown(terminal.screen.text)).toMatchFileSnapshot(`screens/killed-${columns}.txt`);
    expect(terminal.screen.text).toMatch(/✗ process died/);
    expect(terminal.screen.text).toMatch(/↻ resumed, 2 steps not repeated/);
    expect([...terminal.screen.colours]).toEqual(expect.arrayContaining(['31', '32', '33']));
  },
);

test.concurrent.for([80, 40])(
  'days of waiting do not hide seconds of work, %i columns wide',
  async (columns, { expect }) => {
    const terminal = open(['show', patient.task.id], { columns, rows: 40 });
    expect(await terminal.ended).toBe(0);
    await expect(shown(terminal.screen.text)).toMatchFileSnapshot(`screens/patient-${columns}.txt`);
    expect(terminal.screen.hasBrokenLines).toBe(false);
  },
);

test.concurrent.for([
  ['--ascii', ['--ascii'], {}],
  ['a locale without UTF-8', [], { LC_ALL: 'C' }],
] as const)('only ASCII with %s', async ([, options, more], { expect }) => {
  const terminal = open(['show', killed.task.id, ...options], { rows: 80 }, more);
  expect(await terminal.ended).toBe(0);
  await expect(shown(terminal.screen.text)).toMatchFileSnapshot('screens/ascii.txt');
  // Also the template of an answer.
  expect(terminal.screen.text).toMatch(/^[\x20-\x7e\n]*$/);
});

test.concurrent('NO_COLOR and --no-color only remove the colours', async ({ expect }) => {
  const [usual, byEnvironment, byOption] = [
    open(['list']),
    open(['list'], {}, { NO_COLOR: '1' }),
    open(['list', '--no-color']),
  ];
  await Promise.all([usual.ended, byEnvironment.ended, byOption.ended]);
  expect([...usual.screen.colours]).toContain('31');
  expect([...byEnvironment.screen.colours]).toEqual([]);
  expect([...byOption.screen.colours]).toEqual([]);
  expect(byOption.screen.text).toBe(usual.screen.text);
});

test.concurrent.for([80, 40])(
  'the live view of all tasks, %i columns wide; q restores the terminal',
  async (columns, { expect }) => {
    const operator = await new OperatorServer().start();
    try {
      operator.tasks = several;
      const home = new Home(env);
      const terminal = home.open(['tasks', 'watch', '--url', operator.url], { columns, rows: 30 });
      await terminal.shows(/Running/);
      await expect.poll(() => operator.listeners).toBe(1);
      operator.send({
        type: 'changes',
        id: '1',
        tasks: [
          summary({
            id: idOf('abalone'),
            progress: { done: 4, total: 8 },
            createdAt: ago(3_600),
            updatedAt: now,
          }),
        ],
        subtasks: [],
        removed: [],
      });
      await terminal.shows(/Recent changes\n.*4\/8/);
      expect(terminal.screen.isTaken).toBe(true);
      expect(terminal.screen.isCursorShown).toBe(false);
      await expect(unhurried(terminal.screen.text)).toMatchFileSnapshot(`screens/watch-${columns}.txt`);
      terminal.types('q');
      expect(await terminal.ended).toBe(0);
      expect(terminal.screen.isTaken).toBe(false);
      expect(terminal.screen.isCursorShown).toBe(true);
      expect(terminal.screen.text).toBe('');
    } finally {
      await operator.stop();
    }
  },
);

test.concurrent('quitting does not wait for a server that does not answer', async ({
  expect,
  onTestFinished,
}) => {
  const operator = await new OperatorServer().start();
  onTestFinished(() => operator.stop());
  operator.tasks = several;
  const terminal = new Home(env).open(['tasks', 'watch', '--url', operator.url]);
  await terminal.shows(/Waiting for an answer/);
  const unanswered = new Promise<void>((resolve) => {
    operator.answersWith = () => resolve();
  });
  await expect.poll(() => operator.listeners).toBe(1);
  operator.send({ type: 'changes', id: 'c.1', tasks: [several[0]!], subtasks: [], removed: [] });
  await unanswered;
  terminal.types('q');
  const started = performance.now();
  expect(await terminal.ended).toBe(0);
  // The request itself would time out after 30 s.
  expectWithin(25_000, performance.now() - started);
  expect(terminal.screen.isTaken).toBe(false);
});

test.concurrent('a live view is redrawn when the terminal becomes narrower', async ({ expect }) => {
  const terminal = open(['watch'], { columns: 80, rows: 30 });
  await terminal.shows(/130 completed/);
  await terminal.resize(40);
  await terminal.shows(/Last hour {2}✔ 130 {2}✖/);
  expect(terminal.screen.hasBrokenLines).toBe(false);
  terminal.types('\x03');
  expect(await terminal.ended).toBe(0);
  expect(terminal.screen.text).toBe('');
});

test.concurrent('a watched task is drawn live, and stays on the screen once it finished', async ({
  expect,
}) => {
  const operator = await new OperatorServer().start();
  try {
    const id = idOf('mussel');
    const started = story({
      task: summary({ id, progress: { done: 1, total: 2 }, createdAt: ago(10) }),
      passes: [pass({ from: ago(10), to: null, end: 'running' })],
      calls: [step('gather', 9, 4), step('cook', 4, null)],
    });
    operator.story = started;
    const terminal = new Home(env).open(['tasks', 'watch', id, '--url', operator.url]);
    await terminal.shows(/cook .*▸/);
    await expect.poll(() => operator.listeners).toBe(1);
    const over = summary({ ...started.task, status: 'completed', finishedAt: now, version: 6 });
    operator.story = story({
      task: over,
      passes: [pass({ from: ago(10), to: now, end: 'ended' })],
      calls: [step('gather', 9, 4), step('cook', 4, 0)],
      outcome: { kind: 'result', isError: false, value: { content: [{ type: 'text', text: 'Served.' }] } },
    });
    operator.send({ type: 'changes', id: '1', tasks: [over], subtasks: [], removed: [] });
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen.isTaken).toBe(false);
    await expect(unhurried(terminal.screen.text)).toMatchFileSnapshot('screens/watched.txt');
  } finally {
    await operator.stop();
  }
});
