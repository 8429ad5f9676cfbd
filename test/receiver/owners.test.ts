/** Whose tasks are whose, when several servers ask the same client and its tasks are in one store. */
import { expect, test } from 'vitest';
import { accepted, entrust, meet, type RawServer, sharedStore } from './raw-server.ts';

async function seesNothing(server: RawServer, taskId: string): Promise<void> {
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    expect((await server.request(method, { taskId })).error?.code, method).toBe(-32602);
  expect((await server.request('tasks/list')).result.tasks).toEqual([]);
}

test('two servers never see each other’s tasks, though the store is the same', async () => {
  const hosts = sharedStore();
  const one = await meet({ hostedTasks: hosts, says: { name: 'one' } });
  const two = await meet({ hostedTasks: hosts, says: { name: 'two' } });
  const { taskId } = await entrust(one.server);
  await one.person.says(accepted);
  await one.server.untilStatus(taskId, 'completed');
  await seesNothing(two.server, taskId);
  expect((await one.server.request('tasks/list')).result.tasks).toMatchObject([{ taskId }]);
});

test('a question is only put by the host that is connected to the server that asked', async () => {
  const hosts = sharedStore();
  const one = await meet({ hostedTasks: hosts, says: { name: 'one' } });
  const { taskId } = await entrust(one.server);
  await one.person.wasAsked();
  const two = await meet({ hostedTasks: hosts, says: { name: 'two' } });
  await one.tasks.close();
  // Long enough for whoever may take what was left behind.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(two.person.asked).toEqual([]);
  const again = await meet({ hostedTasks: hosts, says: { name: 'one' } });
  await again.person.says(accepted);
  expect((await again.server.request('tasks/result', { taskId })).result).toMatchObject(accepted);
  expect(two.person.asked).toEqual([]);
});

test('a server that takes the name of another, at another address, sees nothing of it', async () => {
  const hosts = sharedStore();
  const there = { hosts, says: { name: 'bank' }, isOnAPort: true };
  const meeting = await meet(there);
  const { taskId } = await entrust(meeting.server);
  await meeting.person.says(accepted);
  await meeting.server.untilStatus(taskId, 'completed');
  const { server } = await meet(there);
  await seesNothing(server, taskId);
});

test('a server whose connection is replaced by one to another server takes nothing with it', async () => {
  const { server, person, tasks } = await meet({ says: { name: 'one' } });
  const { taskId } = await entrust(server);
  await person.says(accepted);
  await server.untilStatus(taskId, 'completed');
  server.rename('two');
  server.drop();
  // The next request finds the connection gone, and opens another.
  await tasks.callTool({ name: 'x' }).catch(() => {});
  await server.notified('notifications/initialized', 2);
  await seesNothing(server, taskId);
});

test('a host that knows its servers by names of its own finds their tasks under those', async () => {
  const hosts = sharedStore();
  const one = await meet({ hostedTasks: hosts, server: 'the office', says: { name: 'one' } });
  const { taskId } = await entrust(one.server);
  await one.person.says(accepted);
  await one.server.untilStatus(taskId, 'completed');
  await one.tasks.close();
  const renamed = await meet({ hostedTasks: hosts, server: 'the office', says: { name: 'one, renamed' } });
  expect((await renamed.server.request('tasks/result', { taskId })).result).toMatchObject(accepted);
});
