/** Clients without tasks, in front of servers without tasks. */
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { followed, type Result } from '../hand-over/script.ts';
import { connectSdk } from '../kit/sdk.ts';
import { notes, openGateway, type Stage, toy } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openGateway({
    plainClients: { window: '300ms', windowWithProgress: '300ms' },
    mcpServers: { toy },
  });
});
afterAll(() => stage[Symbol.asyncDispose]());

describe.each([
  ['2026-07-28', 'auto'],
  ['2025-11-25', 'legacy'],
] as const)('a script that only calls tools, on %s', (revision, mode) => {
  let client: Client;

  beforeAll(async () => {
    client = await connectSdk(stage.url, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  });
  afterAll(() => client.close());

  const call = async (name: string, input: object) =>
    (await client.callTool({ name, arguments: { ...input } })) as Result;

  test('gets four tools in addition to those of the upstream', async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['pid', 'task_wait', 'task_status', 'task_answer', 'task_cancel']),
    );
  });

  test('gets the name of the tool that it called', async () => {
    const { structuredContent, content } = await call('write', { file: notes().file, ms: 600 });
    expect(structuredContent).toMatchObject({ tool: 'write' });
    expect(JSON.stringify(content)).toMatch(/Task \w+ \(write\): working/);
  });

  test('completes a call that takes longer than the window', async () => {
    const { file, lines } = notes();
    const { called, result } = await followed(call, 'write', { file, ms: 1_500 });
    expect(result.content).toEqual([{ type: 'text', text: 'worked' }]);
    expect(called.slice(0, 2)).toEqual(['write', 'task_wait']);
    expect(lines()).toEqual(['begun', 'done']);
  });

  test('answers a question of the upstream', async () => {
    const { called, result } = await followed(call, 'ask', {});
    expect(JSON.stringify(result.content)).toContain('Ada');
    expect(called).toContain('task_answer');
  });
});

test('the config can make calls wait instead', async () => {
  await using waiting = await openGateway({ plainClients: 'wait', mcpServers: { toy } });
  const client = await connectSdk(waiting.url);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('task_wait');
  await client.close();
});
