/** Requests that go away, or grow old, at a moment that no socket could hit: the handler and its clock are in our hands. */
import { expect, onTestFinished, test } from 'vitest';
import { createTasks, type TasksOptions } from '../../src/index.ts';
import { McpHandler } from '../../src/server.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock } from '../../src/testing.ts';
import { attached } from '../kit/attached.ts';
import { Place, standing } from './place.ts';
import { accept, callParams, type Message, rawMessage } from './raw-client.ts';
import { servingTools } from './tools.ts';

async function handlerFor(place: Place, options: Omit<TasksOptions, 'store' | 'tools'> = {}) {
  const { clock } = options;
  const store = await openSqlite(place.database, clock ? { clock } : {});
  const tasks = createTasks({ store, tools: servingTools, ...options });
  const worker = await tasks.work({ grace: '50ms' });
  onTestFinished(async () => {
    await worker.stop();
    await tasks.close();
  });
  const handler = new McpHandler(tasks, attached(tasks));
  return { tasks, handler };
}

interface Sent extends Message {
  readonly signal?: AbortSignal;
  /** Whether the caller takes tasks. */
  readonly tasks?: boolean;
}

async function call(handler: McpHandler, tool: string, input: object, sent: Sent = {}) {
  const { signal, tasks = true, ...extras } = sent;
  const response = await handler.fetch(
    new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': tool,
      },
      body: JSON.stringify(rawMessage('tools/call', callParams(tool, input, extras), { tasks })),
      ...(signal && { signal }),
    }),
  );
  const text = await response.text();
  return text === '' ? undefined : (JSON.parse(text) as Message);
}

test.each([
  ['work_always', 'created'],
  ['work_auto', 'published'],
])(
  'a call of %s that is gone when its task is %s ends with it, since nobody was told of it',
  async (tool, event) => {
    const place = new Place();
    const { tasks, handler } = await handlerFor(place, { window: '50ms' });
    const gone = new AbortController();
    await tasks.subscribe(({ events }) => {
      if (events.some(({ type }) => type === event)) gone.abort();
    });
    expect(await call(handler, tool, place.work(), { signal: gone.signal })).toBeUndefined();
    await expect.poll(() => standing(place.tasks())).toEqual(['cancelled']);
  },
);

test('a state is good for an hour and no longer (S2322-15)', async () => {
  const place = new Place();
  const clock = new ManualClock();
  const { handler } = await handlerFor(place, { clock });
  const first = await call(handler, 'gather_always', {});
  const retry = {
    inputResponses: { name: accept({ name: 'Ada' }) },
    requestState: first!.result!.requestState,
  };
  clock.jump(3_599_000);
  expect(await call(handler, 'gather_always', {}, retry)).toMatchObject({
    result: { resultType: 'input_required' },
  });
  clock.jump(2_000);
  expect(await call(handler, 'gather_always', {}, retry)).toMatchObject({
    error: { code: -32602, message: expect.stringContaining('expired') },
  });
});

test('work whose caller does not come back with an answer within the hour is ended', async () => {
  const place = new Place();
  const clock = new ManualClock();
  const { handler } = await handlerFor(place, { clock });
  const asked = await call(handler, 'ask', place.work(), { tasks: false });
  expect(asked!.result).toMatchObject({ resultType: 'input_required' });
  clock.advance(3_590_000);
  // What was due by then has been done by the time that a later call is answered.
  await call(handler, 'at_once_always', {});
  expect(standing(place.tasks('ask'))).toEqual(['waiting']);
  clock.advance(20_000);
  await expect.poll(() => standing(place.tasks('ask'))).toEqual(['cancelled']);
  expect(place.trace()).toEqual(['before']);
});

test('an open request keeps its work alive though the machine slept for longer than its lease', async () => {
  const place = new Place();
  const clock = new ManualClock();
  const { handler } = await handlerFor(place, { clock, window: '1h' });
  const reply = call(handler, 'work_auto', place.work());
  await expect.poll(() => place.trace()).toContain('second');
  clock.jump(120_000);
  clock.advance(5_000);
  place.open();
  expect(await reply).toMatchObject({ result: { content: [{ text: 'worked' }] } });
});
