/** One short conversation for each dialect. */
import type { Newsroom } from './newsroom.ts';
import type { Draft } from './peer.ts';
import type { Recorder } from './recorder.ts';

export interface Scenario {
  /** What the server has on. */
  readonly drafts: readonly Draft[];
  readonly talk: (client: Recorder, newsroom: Newsroom) => Promise<void>;
}

const approve = { action: 'accept', content: { yes: true } };
const publish = { name: 'publish', arguments: { title: 'Tides' } };
const edition = { name: 'edition', arguments: { titles: ['Tides'] } };
const elicitation = { elicitation: {} };

/** Whatever the server asks. */
export const answer = () => approve;

function flagging(draft: string): object {
  return { ...elicitation, experimental: { [draft]: {} } };
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  '2025-11-25': {
    drafts: [],
    async talk(client, { until }) {
      await client.open(elicitation);
      const { task } = await client.request('tools/call', { ...publish, task: { ttl: 3_600_000 } });
      const { taskId } = task;
      await until(taskId, 'waiting');
      await client.request('tasks/get', { taskId });
      await client.request('tasks/result', { taskId });
    },
  },

  'sep-1686': {
    drafts: ['sep-1686'],
    async talk(client) {
      await client.open(elicitation);
      const taskId = 'publish-tides';
      const _meta = { 'modelcontextprotocol.io/task': { taskId, keepAlive: 3_600_000 } };
      await client.request('tools/call', { ...publish, _meta });
      const related = { 'modelcontextprotocol.io/related-task': { taskId } };
      await client.request('tasks/get', { taskId, _meta: related });
      await client.request('tasks/delete', { taskId, _meta: related });
    },
  },

  'sep-2229': {
    drafts: ['sep-2229'],
    async talk(client, { until }) {
      await client.open(flagging('sep-2229'));
      await client.request('tools/call', {
        name: 'count',
        arguments: { text: 'Tides' },
        task: { ttl: 3_600_000 },
      });
      const { task } = await client.request('resources/read', { uri: 'archive://1899' });
      await until(task.taskId, 'done');
      await client.request('tasks/result', { taskId: task.taskId });
    },
  },

  'sep-2268': {
    drafts: ['sep-2268'],
    async talk(client, { until, untilSubtask }) {
      await client.open(flagging('sep-2268'));
      const { task } = await client.request('tools/call', { ...edition, task: { ttl: 3_600_000 } });
      const { taskId } = task;
      await untilSubtask(taskId);
      const { childTaskIds } = await client.request('tasks/get', { taskId });
      const [child] = childTaskIds;
      await until(child, 'waiting');
      await client.request('tasks/get', { taskId: child });
      await client.request('tasks/result', { taskId: child });
      await until(taskId, 'done');
      await client.request('tasks/get', { taskId });
    },
  },

  'sep-2339': {
    drafts: ['sep-2339'],
    async talk(client, { until, stopPress }) {
      await client.open(flagging('sep-2339'));
      const print = stopPress();
      const { task } = await client.request('tools/call', { ...publish, task: { ttl: 3_600_000 } });
      const { taskId } = task;
      await until(taskId, 'waiting');
      await client.request('tasks/continue', { taskId });
      await client.request('tasks/continue', { taskId, inputResponses: { approve } });
      print();
      await until(taskId, 'done');
      await client.request('tasks/continue', { taskId });
    },
  },

  '2026-07-28': {
    drafts: [],
    async talk(client, { until }) {
      const capabilities = {
        elicitation: { form: {} },
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      };
      await client.requestLater('server/discover', {}, capabilities);
      const { taskId } = await client.requestLater('tools/call', publish, capabilities);
      await until(taskId, 'waiting');
      await client.requestLater('tasks/get', { taskId }, capabilities);
      await client.requestLater('tasks/update', { taskId, inputResponses: { approve } }, capabilities);
      await until(taskId, 'done');
      await client.requestLater('tasks/get', { taskId }, capabilities);
    },
  },

  '2026-07-28-with-subtasks': {
    drafts: ['sep-2268'],
    async talk(client, { until, untilSubtask }) {
      const capabilities = {
        elicitation: { form: {} },
        extensions: { 'io.modelcontextprotocol/tasks': {}, 'dev.holdfast/subtasks': {} },
      };
      const { taskId } = await client.requestLater('tools/call', edition, capabilities);
      await untilSubtask(taskId);
      const { childTaskIds } = await client.requestLater('tasks/get', { taskId }, capabilities);
      const [child] = childTaskIds;
      await until(child, 'waiting');
      await client.requestLater('tasks/get', { taskId: child }, capabilities);
    },
  },
};
