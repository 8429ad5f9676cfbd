/** One short conversation for each dialect. */
import type { Newsroom } from './newsroom.ts';
import type { Draft } from './peer.ts';
import type { Recorder } from './recorder.ts';

type Talk = (client: Recorder, newsroom: Newsroom) => Promise<void>;

export const approve = { action: 'accept', content: { yes: true } };
const publish = { name: 'publish', arguments: { title: 'Tides' } };
const edition = { name: 'edition', arguments: { titles: ['Tides'] } };
const elicitation = { elicitation: {} };

const task = { ttl: 3_600_000 };

function flagging(draft: string): object {
  return { ...elicitation, experimental: { [draft]: {} } };
}

function extended(...extensions: readonly string[]): object {
  const all = ['io.modelcontextprotocol/tasks', ...extensions].map((name) => [name, {}]);
  return { elicitation: { form: {} }, extensions: Object.fromEntries(all) };
}

async function called(client: Recorder, call: object): Promise<string> {
  return (await client.request('tools/call', { ...call, task })).task.taskId;
}

/** Looks at a task and then at its first child, which has a question. */
async function child(client: Recorder, { until, untilSubtask }: Newsroom, taskId: string): Promise<string> {
  await untilSubtask(taskId);
  const [first] = (await client.request('tasks/get', { taskId })).childTaskIds;
  await until(first, 'waiting');
  await client.request('tasks/get', { taskId: first });
  return first;
}

export const scenarios: Readonly<Record<string, Talk>> = {
  async '2025-11-25'(client, { until }) {
    await client.open(elicitation);
    const taskId = await called(client, publish);
    await until(taskId, 'waiting');
    await client.request('tasks/get', { taskId });
    await client.request('tasks/result', { taskId });
  },

  async 'sep-1686'(client) {
    await client.open(elicitation);
    const taskId = 'publish-tides';
    const _meta = { 'modelcontextprotocol.io/task': { taskId, keepAlive: 3_600_000 } };
    await client.request('tools/call', { ...publish, _meta });
    const related = { 'modelcontextprotocol.io/related-task': { taskId } };
    await client.request('tasks/get', { taskId, _meta: related });
    await client.request('tasks/delete', { taskId, _meta: related });
  },

  async 'sep-2229'(client, { until }) {
    await client.open(flagging('sep-2229'));
    await client.request('tools/call', { name: 'count', arguments: { text: 'Tides' }, task });
    const { taskId } = (await client.request('resources/read', { uri: 'archive://1899' })).task;
    await until(taskId, 'done');
    await client.request('tasks/result', { taskId });
  },

  async 'sep-2268'(client, newsroom) {
    await client.open(flagging('sep-2268'));
    const taskId = await called(client, edition);
    await client.request('tasks/result', { taskId: await child(client, newsroom, taskId) });
    await newsroom.until(taskId, 'done');
    await client.request('tasks/get', { taskId });
  },

  async 'sep-2339'(client, { until, stopPress }) {
    await client.open(flagging('sep-2339'));
    const print = stopPress();
    const taskId = await called(client, publish);
    await until(taskId, 'waiting');
    await client.request('tasks/continue', { taskId });
    await client.request('tasks/continue', { taskId, inputResponses: { approve } });
    print();
    await until(taskId, 'done');
    await client.request('tasks/continue', { taskId });
  },

  async '2026-07-28'(client, { until }) {
    client.speakLater(extended());
    await client.request('server/discover', {});
    const { taskId } = await client.request('tools/call', publish);
    await until(taskId, 'waiting');
    await client.request('tasks/get', { taskId });
    await client.request('tasks/update', { taskId, inputResponses: { approve } });
    await until(taskId, 'done');
    await client.request('tasks/get', { taskId });
  },

  async '2026-07-28-with-subtasks'(client, newsroom) {
    client.speakLater(extended('dev.holdfast/subtasks'));
    await child(client, newsroom, (await client.request('tools/call', edition)).taskId);
  },
};

export function draftsOf(name: string): Draft[] {
  if (name === '2026-07-28-with-subtasks') return ['sep-2268'];
  return name.startsWith('sep-') ? [name as Draft] : [];
}
