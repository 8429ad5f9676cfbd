/** Clients of every generation, as far as the cases of the gateway need them. */
import { setTimeout as pause } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';
import { connectOlderTasksClient } from '../2025-11-25/ext-tasks-client.ts';
import { callTool, connectSdkClient, resultOf } from '../2025-11-25/sdk-client.ts';
import { Mcpdo } from '../inspector.ts';
import { connectTasksClient, type TasksClient } from '../tasks-client.ts';
import type { World } from '../world.ts';
import type { Doing, Upstream } from './upstreams.ts';

export type Result = Record<string, unknown>;

export interface Peer extends AsyncDisposable {
  tools(): Promise<string[]>;
  /** Calls a tool to its end, and answers what it asks. Rejects if it ends with a protocol error. */
  call(doing: Doing): Promise<Result>;
  /** What it was told of how far a call is. */
  progress?(upstream: Upstream): Promise<readonly unknown[]>;
  /** Resolves when a call that had begun is cancelled. */
  cancel?(doing: Doing): Promise<void>;
  readonly asked: { readonly length?: number; readonly size?: number };
}

export interface Kind {
  readonly title: string;
  connect(url: URL, world: World): Promise<Peer>;
}

const name = { action: 'accept' as const, content: { name: 'Ada' } };
const anything = z.looseObject({});

/** Both revisions of ext-tasks have the same session. */
function extTasks(
  {
    session,
    asked,
    [Symbol.asyncDispose]: dispose,
  }: Pick<TasksClient, 'session'> & AsyncDisposable & { asked: Peer['asked'] },
  tools: () => Promise<string[]>,
  options: Parameters<TasksClient['session']['callTool']>[2],
  failed: (taskId: string) => Promise<Result>,
): Peer {
  const begin = ({ tool, input = {} }: Doing) => session.callTool(tool, input, options);
  return {
    tools,
    asked,
    async call(doing) {
      const execution = await begin(doing);
      const { outcome } = await execution.settle();
      if (outcome.status === 'failed' && execution.handle) return failed(execution.handle.taskId);
      return resultFromTaskOutcome(outcome) as Result;
    },
    async progress({ telling }) {
      const execution = await begin(telling);
      const said: unknown[] = [];
      await execution.settle({
        onEvent: (event) => {
          const message = /"statusMessage":"([^"]+)"/.exec(JSON.stringify(event))?.[1];
          if (message) said.push(message);
        },
      });
      return said;
    },
    async cancel(doing) {
      const execution = await begin(doing);
      if (execution.kind !== 'task') throw new Error('It was answered without a task.');
      await execution.cancel();
      const { outcome } = await execution.settle();
      if (outcome.status !== 'cancelled') throw new Error(`It is ${outcome.status}.`);
    },
    [Symbol.asyncDispose]: dispose,
  };
}

async function listed(url: URL, mode: 'auto' | 'legacy'): Promise<string[]> {
  const client = new Client({ name: 'holdfast-interop', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map((tool) => tool.name);
}

export const kinds: readonly Kind[] = [
  {
    title: 'ext-tasks on 2026-07-28',
    async connect(url) {
      const client = await connectTasksClient(new StreamableHTTPClientTransport(url));
      return extTasks(
        client,
        () => listed(url, 'auto'),
        undefined,
        async () => {
          throw new Error('It failed.');
        },
      );
    },
  },
  {
    title: 'ext-tasks on 2025-11-25',
    async connect(url) {
      const client = await connectOlderTasksClient(new StreamableHTTPClientTransport(url));
      const ask = (taskId: string) => ({ method: 'tasks/result', params: { taskId } });
      return extTasks(
        client,
        () => listed(url, 'legacy'),
        { task: { preference: 'prefer' } },
        (taskId) => client.client.request(ask(taskId), anything) as Promise<Result>,
      );
    },
  },
  {
    title: 'the client of SDK 1.x',
    async connect(url) {
      const sdk = await connectSdkClient(new OlderTransport(url), () => name);
      return {
        asked: sdk.asked,
        tools: async () => (await sdk.client.listTools()).tools.map((tool) => tool.name),
        async call({ tool, input }) {
          const { taskId, result, error } = await callTool(sdk, tool, input);
          if (result) return result;
          if (taskId === undefined) throw error;
          return resultOf(sdk, taskId);
        },
        async progress({ counting: { tool, input } }) {
          const said: unknown[] = [];
          await callTool(sdk, tool, input, {
            onprogress: (progress) => said.push(progress),
          });
          return said;
        },
        async cancel({ tool, input }) {
          const ended = callTool(sdk, tool, input, {
            onTask: (taskId) => void pause(200).then(() => sdk.tasks.cancelTask(taskId)),
          });
          const { story } = await ended;
          if (!story.includes('cancelled')) throw new Error(story.join());
        },
        [Symbol.asyncDispose]: () => sdk[Symbol.asyncDispose](),
      };
    },
  },
  {
    title: 'mcpdo',
    async connect(url, world) {
      const mcpdo = await world.own(world.folder().then((home) => new Mcpdo(home)));
      await mcpdo.run('connect', url.href, '--era', 'modern');
      let asked = 0;
      const call = async ({ tool, input = {} }: Doing): Promise<Result> => {
        const { answer } = await mcpdo.run('tools/call', tool, JSON.stringify(input));
        const pending = answer.elicitationPending as Record<string, string> | undefined;
        if (pending) {
          asked++;
          return (await mcpdo.run('elicitation/respond', pending.elicitationId!, 'name:=Ada')).answer;
        }
        return answer;
      };
      return {
        get asked() {
          return { length: asked };
        },
        tools: async () => {
          const { answer } = await mcpdo.run('tools/list');
          return (answer.tools as { name: string }[]).map((tool) => tool.name);
        },
        call,
        [Symbol.asyncDispose]: () => mcpdo[Symbol.asyncDispose](),
      };
    },
  },
  {
    title: 'a client without tasks',
    async connect(url) {
      const client = new Client(
        { name: 'holdfast-interop', version: '1.0.0' },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
      );
      const asked: string[] = [];
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params.message);
        return name;
      });
      await client.connect(new StreamableHTTPClientTransport(url));
      return {
        asked,
        tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
        call: ({ tool, input = {} }) => client.callTool({ name: tool, arguments: input }) as Promise<Result>,
        async progress({ counting: { tool, input = {} } }) {
          const said: unknown[] = [];
          const onprogress = (progress: object) => said.push(progress);
          await client.callTool({ name: tool, arguments: input }, { onprogress });
          return said;
        },
        async cancel({ tool, input = {} }) {
          const over = new AbortController();
          const called = client.callTool({ name: tool, arguments: input }, { signal: over.signal });
          await pause(300);
          over.abort();
          await called.then(
            () => Promise.reject(new Error('It was answered.')),
            () => {},
          );
        },
        [Symbol.asyncDispose]: () => client.close(),
      };
    },
  },
];
