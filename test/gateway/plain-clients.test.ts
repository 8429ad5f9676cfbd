/** Hosts without tasks, in front of servers without tasks: a call that takes long is handed over to plain tools. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { configIn } from '../../src/gateway/config.ts';
import { parseConfig } from '../../src/gateway/config-file.ts';
import { followed, type Result } from '../hand-over/script.ts';
import { notes, openGateway, textOf, toy } from './stage.ts';

const info = { name: 'plain', version: '1' };

/** A host that lists and calls tools, and knows nothing else. */
interface Host {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

const hosts: readonly (readonly [string, (url: URL) => Promise<Host>])[] = [
  [
    'of 2026-07-28',
    async (url) => {
      const client = new Client(info, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new StreamableHTTPClientTransport(url));
      onTestFinished(() => client.close());
      return client;
    },
  ],
  [
    'of the SDK before it',
    async (url) => {
      const client = new OlderClient(info);
      await client.connect(new OlderTransport(url) as never);
      onTestFinished(() => client.close());
      return client;
    },
  ],
];

const opened = async (config: object) => {
  const stage = await openGateway({ mcpServers: { toy }, ...config });
  onTestFinished(() => stage[Symbol.asyncDispose]());
  return stage;
};

test.each(hosts)('a host %s carries a slow call of a plain server to its end', async (_, connect) => {
  const { file, lines } = notes();
  const host = await connect((await opened({ plainClients: { handOver: '300ms' } })).url);
  const { called, result } = await followed(
    async (name, input) => (await host.callTool({ name, arguments: { ...input } })) as Result,
    'write',
    { file, ms: 1_000 },
  );
  expect(called.slice(0, 2)).toEqual(['write', 'task_wait']);
  expect(textOf(result as never)).toBe('worked');
  expect(lines()).toEqual(['begun', 'done']);
});

test.each(hosts)('a host %s answers what a plain server asks, by a plain tool', async (_, connect) => {
  const host = await connect((await opened({ plainClients: { handOver: '10s' } })).url);
  const { called, result } = await followed(
    async (name, input) => (await host.callTool({ name, arguments: { ...input } })) as Result,
    'ask',
    {},
  );
  expect(called).toContain('task_answer');
  expect(textOf(result as never)).toContain('Ada');
});

test.each(hosts)('a host %s is listed the four tools, unless the config says no', async (_, connect) => {
  const names = async (config: object) => {
    const { tools } = await (await connect((await opened(config)).url)).listTools();
    return tools.map(({ name }) => name).filter((name) => name.startsWith('task_'));
  };
  expect(await names({})).toEqual(['task_wait', 'task_status', 'task_answer', 'task_cancel']);
  expect(await names({ plainClients: 'wait' })).toEqual([]);
});

test('a command that has the name of one of the four is shown under another', async () => {
  const command = { command: 'echo', args: ['hello'] };
  const [, connect] = hosts[0]!;
  const host = await connect((await opened({ commands: { task_wait: command } })).url);
  const { tools } = await host.listTools();
  expect(tools.map(({ name }) => name)).toContain('command_task_wait');
  const result = await host.callTool({ name: 'command_task_wait', arguments: {} });
  expect(textOf(result as never)).toContain('hello');
});

test.each([
  [{ plainClients: 'sometimes' }, '"plainClients" must be one of "wait", "hand-over".'],
  [{ plainClients: { window: '1s' } }, '"plainClients" has no key "window"'],
  [{ plainClients: { prefix: 'a b' } }, '"a bwait"'],
])('%j is refused', (config, reason) => {
  const text = JSON.stringify({ mcpServers: {}, ...config }, null, 2);
  expect(() => configIn(parseConfig(text, 'holdfast.json'))).toThrow(reason);
});
