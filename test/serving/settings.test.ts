/** What the author of a tool says about tasks, for callers that take them and callers that do not. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Place, standing } from './place.ts';
import { type HttpProcess, serve } from './server-process.ts';

const place = new Place();
/** One lets no call end within the window, the other lets every one. */
let hasty: HttpProcess;
let patient: HttpProcess;
beforeAll(async () => {
  const file = place.database;
  [hasty, patient] = await Promise.all([serve({ file, window: '0ms' }), serve({ file, window: '1h' })]);
});
afterAll(() => Promise.all([hasty.kill(), patient.kill()]));

const worked = { resultType: 'complete', content: [{ type: 'text', text: 'worked' }] };
const atOnce = { resultType: 'complete', content: [{ type: 'text', text: 'at once' }] };

test.each(['always', 'required'])(
  'a tool with task: "%s" gives a caller with the extension a task, even if it ends at once',
  async (setting) => {
    const client = patient.client();
    const { result } = await client.call(`at_once_${setting}`);
    expect(result).toMatchObject({ resultType: 'task', taskId: expect.any(String) });
    expect(await client.until(result.taskId, 'completed')).toMatchObject({ result: atOnce });
    expect(standing(place.tasks(`at_once_${setting}`))).toEqual(['result']);
  },
);

test('a tool with task: "never" is waited for, however long it takes, even by a caller with the extension', async () => {
  const client = hasty.client();
  const { reply } = client.openCall('work_never', place.work('never'));
  await expect.poll(() => place.trace('never')).toContain('second');
  place.open('never');
  expect((await reply).result).toMatchObject(worked);
  await expect.poll(() => place.tasks('work_never')).toEqual([]);
});

test.each(['auto', 'always', 'never'])(
  'a caller without the extension waits for the ordinary result of a tool with task: "%s"',
  async (setting) => {
    const client = hasty.client({ tasks: false });
    const name = `${setting} without the extension`;
    const { reply } = client.openCall(`work_${setting}`, place.work(name));
    await expect.poll(() => place.trace(name)).toContain('second');
    place.open(name);
    const { status, result } = await reply;
    expect(status).toBe(200);
    expect(result).toMatchObject(worked);
    expect(result).not.toHaveProperty('taskId');
    await expect.poll(() => place.tasks(`work_${setting}`)).toEqual([]);
  },
);

test('a tool with task: "required" refuses a caller without the extension, and nothing runs', async () => {
  const client = hasty.client({ tasks: false });
  const { status, error } = await client.call('work_required', place.work('required'));
  expect(status).toBe(400);
  expect(error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
  });
  expect(place.tasks('work_required')).toEqual([]);
  expect(place.trace('required')).toEqual([]);
});

test('a waiting caller that gave a token is told of progress, one after the other, before the result', async () => {
  const client = hasty.client({ tasks: false });
  const { result, frames } = await client.call('progress', {}, { meta: { progressToken: 'mine' } });
  expect(result).toMatchObject({ resultType: 'complete' });
  expect(frames.map(({ method, params }) => [method, params?.progressToken, params?.progress])).toEqual([
    ['notifications/progress', 'mine', 1],
    ['notifications/progress', 'mine', 2],
  ]);
});
