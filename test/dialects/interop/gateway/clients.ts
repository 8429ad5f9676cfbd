/** Clients of every generation, as far as the cases of the gateway need them. */
import { equal, ok, rejects } from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';
import { connectSdkClient } from '../2025-11-25/sdk-client.ts';
import type { CommandLine } from '../command-line.ts';
import { connectPlain } from '../plain-client.ts';
import { connectTasksClient, type Revision } from '../tasks-client.ts';
import type { Doing, Upstream } from './upstreams.ts';

type Result = Record<string, unknown>;

export interface Peer extends AsyncDisposable {
  tools(): Promise<Result>;
  /** Calls a tool to its end, and answers what it asks. Rejects if it ends with a protocol error. */
  call(doing: Doing): Promise<Result>;
  /** What it was told of how far a call is. */
  progress?(upstream: Upstream): Promise<readonly unknown[]>;
  cancel?(doing: Doing): Promise<void>;
  readonly asked: readonly unknown[];
}

const name = { name: 'Ada' };

async function collected(call: (hear: (said: unknown) => void) => Promise<unknown>): Promise<unknown[]> {
  const said: unknown[] = [];
  await call((one) => said.push(one));
  return said;
}

async function extTasks(url: URL, revision: Revision): Promise<Peer> {
  const made = await connectTasksClient(new StreamableHTTPClientTransport(url), revision);
  const { client, call, start } = made;
  return {
    ...made,
    tools: () => client.listTools(),
    async call({ tool, input }) {
      const execution = await call(tool, input);
      const { outcome } = await execution.settle();
      const taskId = execution.handle?.taskId;
      if (outcome.status !== 'failed' || taskId === undefined)
        return resultFromTaskOutcome(outcome) as Result;
      if (revision === '2026-07-28') throw new Error('It failed.');
      return client.request({ method: 'tasks/result', params: { taskId } }, z.looseObject({}));
    },
    progress: ({ telling: { tool, input } }) =>
      collected(async (hear) => {
        const onEvent = (event: unknown) => {
          const message = /"statusMessage":"([^"]+)"/.exec(JSON.stringify(event))?.[1];
          if (message) hear(message);
        };
        await (await call(tool, input)).settle({ onEvent });
      }),
    async cancel({ tool, input }) {
      const execution = await start(tool, input);
      await execution.cancel();
      equal((await execution.settle()).outcome.status, 'cancelled');
    },
  };
}

async function sdk1(url: URL): Promise<Peer> {
  const sdk = await connectSdkClient(new OlderTransport(url), () => ({ action: 'accept', content: name }));
  return {
    ...sdk,
    tools: () => sdk.client.listTools(),
    async call({ tool, input }) {
      const { taskId, result, error } = await sdk.call(tool, input);
      if (result) return result;
      if (taskId === undefined) throw error;
      return sdk.result(taskId);
    },
    progress: ({ counting: { tool, input } }) =>
      collected((onprogress) => sdk.call(tool, input, { onprogress })),
    async cancel({ tool, input }) {
      const onTask = (taskId: string) => void pause(200).then(() => sdk.tasks.cancelTask(taskId));
      const { story } = await sdk.call(tool, input, { onTask });
      ok(story.includes('cancelled'), story.join());
    },
  };
}

async function mcpdo(_url: URL, connected: () => Promise<CommandLine>): Promise<Peer> {
  const { run } = await connected();
  const asked: unknown[] = [];
  return {
    asked,
    // The connection stays for the next: each command is a process already.
    async [Symbol.asyncDispose]() {},
    tools: async () => (await run('tools/list')).answer,
    async call({ tool, input = {} }) {
      const { answer } = await run('tools/call', tool, JSON.stringify(input));
      const pending = answer.elicitationPending as Record<string, string> | undefined;
      if (!pending) return answer;
      asked.push(pending);
      return (await run('elicitation/respond', pending.elicitationId!, 'name:=Ada')).answer;
    },
  };
}

async function withoutTasks(url: URL): Promise<Peer> {
  const plain = await connectPlain(url, name);
  return {
    ...plain,
    tools: () => plain.client.listTools(),
    call: ({ tool, input }) => plain.call(tool, input) as Promise<Result>,
    progress: ({ counting: { tool, input } }) =>
      collected((onprogress) => plain.call(tool, input, { onprogress })),
    async cancel({ tool, input }) {
      const over = new AbortController();
      const called = rejects(plain.call(tool, input, { signal: over.signal }));
      await pause(300);
      over.abort();
      await called;
    },
  };
}

type Connect = (url: URL, mcpdo: () => Promise<CommandLine>) => Promise<Peer>;

export const kinds: Readonly<Record<string, Connect>> = {
  'ext-tasks on 2026-07-28': (url) => extTasks(url, '2026-07-28'),
  'ext-tasks on 2025-11-25': (url) => extTasks(url, '2025-11-25'),
  'the client of SDK 1.x': sdk1,
  mcpdo,
  'a client without tasks': withoutTasks,
};
