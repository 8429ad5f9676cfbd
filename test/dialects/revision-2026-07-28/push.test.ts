import { expect, test } from 'vitest';
import type { Message } from '../../kit/wire.ts';
import { extension, served } from './peer.ts';

const subscriptionId = 'io.modelcontextprotocol/subscriptionId';

async function take(frames: AsyncGenerator<Message>, count: number): Promise<Message[]> {
  const taken: Message[] = [];
  while (taken.length < count) {
    const { value, done } = await frames.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

test('S2026-06 S2663-66: a subscription begins with the ids that are listened to: those that the caller may see', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  const frames = peer.frames({ taskIds: [taskId, 'nobody', taskId] });
  const [first] = await take(frames, 1);
  expect(first).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { taskIds: [taskId] } },
  });
  await frames.return(undefined);
});

test('S2663-68 S2026-07: the first news is how the task stands; all of it is what tasks/get says, under the id of the subscription', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  await peer.until(taskId, 'input_required');
  const frames = peer.frames({ taskIds: [taskId] });
  const [ack, state] = await take(frames, 2);
  const { resultType, _meta, ...shown } = (await peer.get(taskId)).result;
  const { _meta: meta, ...told } = state!.params;
  expect(state!.method).toBe('notifications/tasks');
  expect(told).toEqual(shown);
  expect(meta[subscriptionId]).toBe(ack!.params._meta[subscriptionId]);
  await frames.return(undefined);
});

test('S2026-08 S2663-70: nothing comes but news of the task, to its end, however much it reports', async () => {
  const { peer } = await served();
  const taskId = await peer.start('slow_compute', { seconds: 1 });
  const statuses: string[] = [];
  const frames = peer.frames({ taskIds: [taskId] });
  for await (const { method, params } of frames) {
    if (method === 'notifications/subscriptions/acknowledged') continue;
    expect(method).toBe('notifications/tasks');
    statuses.push(params.status);
    if (params.status === 'completed') break;
  }
  expect(statuses.slice(0, -1).every((status) => status === 'working')).toBe(true);
  expect(statuses.length).toBeGreaterThan(2);
});

test('S2026-10: a question is news of its task, never a request to the client', async () => {
  const { peer } = await served();
  const taskId = await peer.start('confirm_delete', { filename: 'a' });
  for await (const frame of peer.frames({ taskIds: [taskId] })) {
    expect(frame).not.toHaveProperty('id');
    if (frame.params.status === 'input_required') {
      expect(Object.keys(frame.params.inputRequests)).toEqual(['confirm']);
      break;
    }
  }
});

test('S2663-67: whoever listens to tasks must have declared the extension', async () => {
  const { plain } = await served();
  const { status, error } = await plain.request('subscriptions/listen', { notifications: { taskIds: [] } });
  expect(status).toBe(400);
  expect(error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { extensions: { [extension]: {} } } },
  });
});

test('tasks are listened to beside whatever else the server can tell', async () => {
  const { peer } = await served();
  const taskId = await peer.start('nap', { ms: 300 });
  const frames = peer.frames({ taskIds: [taskId], toolsListChanged: true });
  const [ack] = await take(frames, 1);
  expect(ack!.params.notifications).toEqual({ toolsListChanged: true, taskIds: [taskId] });
  for await (const { params } of frames) if (params.status === 'completed') break;
});

test('S2026-09: a server that stops answers the request to listen, and ends the stream', async () => {
  const { peer, stop } = await served();
  const taskId = await peer.start('nap', { ms: 60_000 });
  const frames = peer.frames({ taskIds: [taskId] });
  const [ack] = await take(frames, 2);
  const stopped = stop();
  const [farewell, ...more] = await take(frames, 2);
  expect(farewell).toMatchObject({ result: { resultType: 'complete' } });
  expect(farewell!.id).toBe(ack!.params._meta[subscriptionId]);
  expect(more).toEqual([]);
  await stopped;
});

test.each([{ taskIds: 'all' }, { taskIds: [1] }])('%o is no list of ids', async (notifications) => {
  const { peer } = await served();
  const { error } = await peer.request('subscriptions/listen', { notifications });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('taskIds') });
});
