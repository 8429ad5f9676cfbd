/** Upstreams that break the protocol harm their own calls, and nobody waits for ever. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { textOf } from '../kit/text.ts';
import { openGateway } from './stage.ts';

const raw = (...tools: unknown[]) => ({
  command: process.execPath,
  args: [
    ...['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'servers/raw.ts')],
    ...['--tools', JSON.stringify(tools)],
  ],
});

test('an answer that is none ends the call that it is for, and the connection goes on', async () => {
  await using stage = await openGateway({ mcpServers: { raw: raw('nothing', 'text', 'error', 'pid') } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  for (const name of ['nothing', 'text', 'error'])
    await expect(client.tasks.callTool({ name })).rejects.toMatchObject({ rpcCode: -32603 });
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toContain('pid');
});

test('a large result of a program comes through', async () => {
  await using stage = await openGateway({ mcpServers: { raw: raw('large') } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  expect(textOf(await client.tasks.callTool({ name: 'large' }))).toHaveLength(11_000_000);
});

test('of tools with the same name the first is shown, and of those without a name none', async () => {
  const inputSchema = { type: 'object' };
  const tools = [
    { name: 'pid', description: 'the first', inputSchema },
    { name: 'pid', description: 'the second', inputSchema },
    { name: '', inputSchema },
    { name: 7, inputSchema },
    { inputSchema },
    'naïve, 工具 🔧',
  ];
  await using stage = await openGateway({ mcpServers: { raw: raw(...tools) }, plainClients: 'wait' });
  await using client = await connectOurClient(stage.url, { isModern: true });
  const { tools: shown } = await client.tasks.request('tools/list', {});
  expect(shown).toMatchObject([{ name: 'pid', description: 'the first' }, { name: 'naïve, 工具 🔧' }]);
  expect(textOf(await client.tasks.callTool({ name: 'naïve, 工具 🔧' }))).toContain('工具');
});
