/** Signs of life for a caller that waits: many clients count their time-out anew with each. */
import { expect, test } from 'vitest';
import { idIn, Stage } from './stage.ts';

interface Told {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

async function waiting(stage: Stage, tool: string, input: object = {}) {
  const { promise: parked, resolve } = Promise.withResolvers<string>();
  const stop = await stage.tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'parked')) resolve(taskId);
  });
  const reply = stage.raw().call(tool, input, { meta: { progressToken: 'mine' } });
  const id = await parked;
  stop();
  return { id, reply };
}

function told(frames: readonly { method?: string; params?: object }[]): Told[] {
  return frames
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => {
      const { progressToken, ...rest } = params as Told & { progressToken: string };
      expect(progressToken).toBe('mine');
      return rest;
    });
}

test('every ten seconds a waiting caller is told what runs and for how long', async () => {
  const stage = await Stage.open();
  const { reply } = await waiting(stage, 'held_auto', { word: 'tide' });
  const frames = told((await stage.passing(reply)).frames);
  expect(frames.map(({ message }) => message)).toEqual([
    'held_auto is running (10 s)',
    'held_auto is running (20 s)',
    'held_auto is running (30 s)',
    'held_auto is running (40 s)',
  ]);
  for (const [index, { progress }] of frames.entries()) {
    expect(progress).toBeGreaterThan(index === 0 ? 0 : frames[index - 1]!.progress);
    expect(progress).toBeLessThan(0.001);
  }
});

test('what a handler reports is told as it is, and repeated with the time', async () => {
  const stage = await Stage.open();
  const { reply } = await waiting(stage, 'reporting');
  const [first, ...rest] = told((await stage.passing(reply)).frames);
  expect(first).toEqual({ progress: 1, total: 2, message: 'Half of it' });
  expect(rest).toHaveLength(4);
  for (const [index, { progress, total, message }] of rest.entries()) {
    expect(progress).toBeGreaterThan(1);
    expect(progress).toBeLessThan(1.001);
    expect({ total, message }).toEqual({ total: 2, message: `Half of it (${index + 1}0 s)` });
  }
});

test('task_wait does the same, and says what a person is asked', async () => {
  const stage = await Stage.open();
  const { result } = await stage.raw().call('asking_person');
  const reply = stage.raw().call('task_wait', { taskId: idIn(result) }, { meta: { progressToken: 'mine' } });
  const [first] = told((await stage.passing(reply)).frames);
  expect(first?.message).toMatch(/^Waiting for an answer: What is your name\? \(\d+ s\)$/);
});

test('whoever gave no token hears nothing', async () => {
  const stage = await Stage.open();
  const { result, frames } = await stage.passing(stage.raw().call('held_auto', { word: 'tide' }));
  expect(result.structuredContent).toMatchObject({ status: 'working' });
  expect(frames).toEqual([]);
});

test('a client that counts anew with each sign of life gets its answer, though its time-out is shorter than the window', async () => {
  const stage = await Stage.open();
  const older = await stage.older();
  let signs = 0;
  const call = older.callTool({ name: 'held_auto', arguments: { word: 'tide' } }, undefined, {
    onprogress: () => signs++,
    resetTimeoutOnProgress: true,
    timeout: 30_000,
  });
  expect(await stage.passing(call)).toMatchObject({ structuredContent: { status: 'working' } });
  expect(signs).toBeGreaterThanOrEqual(4);
});
