/** Upstreams that break the protocol harm only their own calls, and no call hangs. */
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

test('a malformed answer ends its call, and the connection stays open', async () => {
  await using stage = await openGateway({ mcpServers: { raw: raw('nothing', 'text', 'error', 'pid') } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  for (const name of ['nothing', 'text', 'error'])
    await expect(client.tasks.callTool({ name })).rejects.toMatchObject({ rpcCode: -32603 });
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toContain('pid');
});

test('a large result of a program arrives', async () => {
  await using stage = await openGateway({ mcpServers: { raw: raw('large') } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  expect(textOf(await client.tasks.callTool({ name: 'large' }))).toHaveLength(11_000_000);
});

test('the first of several tools with the same name is listed, and tools without a name are not', async () => {
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
