/** Clients of every generation, as far as the cases of the gateway need them. */
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';
import { callTool, connectSdkClient, resultOf } from '../2025-11-25/sdk-client.ts';
import { connectMcpdo } from '../inspector.ts';
import { connectPlain } from '../plain.ts';
import { type Revision, TasksClient } from '../tasks-client.ts';
import type { World } from '../world.ts';
import type { Doing, Upstream } from './upstreams.ts';

export type Result = Record<string, unknown>;

export interface Peer extends AsyncDisposable {
  tools(): Promise<Result>;
  /** Calls a tool to its end, and answers what it asks. Rejects if it ends with a protocol error. */
  call(doing: Doing): Promise<Result>;
  /** What it was told of how far a call is. */
  progress?(upstream: Upstream): Promise<readonly unknown[]>;
  /** Resolves when a call that had begun is cancelled. */
  cancel?(doing: Doing): Promise<void>;
  readonly asked: readonly unknown[];
}

const name = { name: 'Ada' };

async function extTasks(url: URL, revision: Revision): Promise<Peer> {
  const client = await TasksClient.connect(new StreamableHTTPClientTransport(url), revision);
  return {
    asked: client.asked,
    tools: () => client.client.listTools(),
    async call({ tool, input }) {
      const execution = await client.call(tool, input);
      const { outcome } = await execution.settle();
      const taskId = execution.handle?.taskId;
      if (outcome.status !== 'failed' || taskId === undefined)
        return resultFromTaskOutcome(outcome) as Result;
      if (revision === '2026-07-28') throw new Error('It failed.');
      return client.client.request({ method: 'tasks/result', params: { taskId } }, z.looseObject({}));
    },
    async progress({ telling: { tool, input } }) {
      const said: unknown[] = [];
      await (await client.call(tool, input)).settle({
        onEvent: (event) => {
          const message = /"statusMessage":"([^"]+)"/.exec(JSON.stringify(event))?.[1];
          if (message) said.push(message);
        },
      });
      return said;
    },
    async cancel({ tool, input }) {
      const execution = await client.start(tool, input);
      await execution.cancel();
      const { outcome } = await execution.settle();
      if (outcome.status !== 'cancelled') throw new Error(`It is ${outcome.status}.`);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

async function sdk1(url: URL): Promise<Peer> {
  const sdk = await connectSdkClient(new OlderTransport(url), () => ({ action: 'accept', content: name }));
  return {
    asked: sdk.asked,
    tools: () => sdk.client.listTools(),
    async call({ tool, input }) {
      const { taskId, result, error } = await callTool(sdk, tool, input);
      if (result) return result;
      if (taskId === undefined) throw error;
      return resultOf(sdk, taskId);
    },
    async progress({ counting: { tool, input } }) {
      const said: unknown[] = [];
      await callTool(sdk, tool, input, { onprogress: (progress) => said.push(progress) });
      return said;
    },
    async cancel({ tool, input }) {
      const { story } = await callTool(sdk, tool, input, {
        onTask: (taskId) => void pause(200).then(() => sdk.tasks.cancelTask(taskId)),
      });
      if (!story.includes('cancelled')) throw new Error(story.join());
    },
    [Symbol.asyncDispose]: () => sdk[Symbol.asyncDispose](),
  };
}

async function mcpdo(url: URL, world: World, user: string): Promise<Peer> {
  const { run, [Symbol.asyncDispose]: dispose } = await connectMcpdo(world, url, user);
  const asked: unknown[] = [];
  return {
    asked,
    tools: async () => (await run('tools/list')).answer,
    async call({ tool, input = {} }) {
      const { answer } = await run('tools/call', tool, JSON.stringify(input));
      const pending = answer.elicitationPending as Record<string, string> | undefined;
      if (!pending) return answer;
      asked.push(pending);
      return (await run('elicitation/respond', pending.elicitationId!, 'name:=Ada')).answer;
    },
    [Symbol.asyncDispose]: dispose,
  };
}

async function withoutTasks(url: URL): Promise<Peer> {
  const plain = await connectPlain(url, name);
  return {
    asked: plain.asked,
    tools: () => plain.client.listTools(),
    call: ({ tool, input }) => plain.call(tool, input) as Promise<Result>,
    async progress({ counting: { tool, input } }) {
      const said: unknown[] = [];
      await plain.call(tool, input, { onprogress: (progress) => said.push(progress) });
      return said;
    },
    async cancel({ tool, input }) {
      const over = new AbortController();
      const called = plain.call(tool, input, { signal: over.signal });
      await pause(300);
      over.abort();
      const [{ status }] = await Promise.allSettled([called]);
      if (status !== 'rejected') throw new Error('It was answered.');
    },
    [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose](),
  };
}

type Connect = (url: URL, world: World, user: string) => Promise<Peer>;

export const kinds: Readonly<Record<string, Connect>> = {
  'ext-tasks on 2026-07-28': (url) => extTasks(url, '2026-07-28'),
  'ext-tasks on 2025-11-25': (url) => extTasks(url, '2025-11-25'),
  'the client of SDK 1.x': sdk1,
  mcpdo,
  'a client without tasks': withoutTasks,
};
