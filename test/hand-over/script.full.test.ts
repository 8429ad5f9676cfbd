/** The whole way of a host that knows nothing of tasks, on both revisions, over HTTP and stdio. */
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Place } from '../serving/place.ts';
import { type Call, followed, type Result } from './script.ts';
import { Stage } from './stage.ts';

const signed = {
  content: [{ type: 'text', text: 'A report on tides.' }],
  structuredContent: { topic: 'tides', signedBy: 'Ada' },
};

describe('a script without any model that uses only plain tools/call completes a tool that takes two minutes, a question included', () => {
  const clients: readonly (readonly [string, (stage: Stage) => Promise<Call>])[] = [
    [
      'as a raw client of 2026-07-28',
      async (stage) => {
        const client = stage.raw();
        return async (tool, input) => (await client.call(tool, input)).result as unknown as Result;
      },
    ],
    [
      'with the SDK on 2026-07-28',
      async (stage) => {
        const client = await stage.later();
        await client.listTools();
        return async (name, input) => (await client.callTool({ name, arguments: { ...input } })) as Result;
      },
    ],
    [
      'with the SDK before it on 2025-11-25',
      async (stage) => {
        const client = await stage.older();
        await client.listTools();
        return async (name, input) => (await client.callTool({ name, arguments: { ...input } })) as Result;
      },
    ],
  ];

  test.each(clients)('%s', async (_, connect) => {
    const stage = await Stage.open();
    const call = await connect(stage);
    const begun = stage.clock.now();
    const { called, result } = await stage.passing(followed(call, 'report', { topic: 'tides' }));
    expect(result).toMatchObject(signed);
    expect(stage.clock.now() - begun).toBeGreaterThanOrEqual(120_000);
    const answered = called.indexOf('task_answer');
    expect(called.slice(0, 2)).toEqual(['report', 'task_wait']);
    expect(called.slice(answered + 1)).toEqual(expect.arrayContaining(['task_wait']));
    expect(called.filter((name) => name === 'report')).toHaveLength(1);
  });
});

describe('over stdio the same script gets to the same end', () => {
  const server = join(import.meta.dirname, '../serving/server.ts');
  const info = { name: 'script', version: '1' };
  const program = (place: Place, handOver = '200ms') => ({
    command: process.execPath,
    args: [
      '--conditions=holdfast-source',
      server,
      JSON.stringify({ tools: 'hand-over', file: place.database, handOver, stdio: true }),
    ],
  });
  const clients: readonly (readonly [string, (place: Place) => Promise<Call>])[] = [
    [
      'with the SDK on 2026-07-28',
      async (place) => {
        const client = new Client(info, { versionNegotiation: { mode: 'auto' } });
        await client.connect(new StdioClientTransport(program(place)));
        onTestFinished(() => client.close());
        expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
        await client.listTools();
        return async (name, input) => (await client.callTool({ name, arguments: { ...input } })) as Result;
      },
    ],
    [
      'with the SDK before it on 2025-11-25',
      async (place) => {
        const client = new OlderClient(info);
        await client.connect(new OlderStdio(program(place)));
        onTestFinished(() => client.close());
        await client.listTools();
        return async (name, input) => (await client.callTool({ name, arguments: { ...input } })) as Result;
      },
    ],
  ];

  test('and a client of 2025-11-25 that can be asked is asked on the way', async () => {
    const client = new OlderClient(info, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, async () => ({
      action: 'accept',
      content: { name: 'Ada' },
    }));
    await client.connect(new OlderStdio(program(new Place(), '1h')));
    onTestFinished(() => client.close());
    expect(await client.callTool({ name: 'asking' })).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test.each(clients)('%s', async (_, connect) => {
    const call = await connect(new Place());
    const { called, result } = await followed(call, 'report', { topic: 'tides', restMs: 1_500 });
    expect(result).toMatchObject(signed);
    expect(called).toEqual(expect.arrayContaining(['report', 'task_wait', 'task_answer']));
  });
});
