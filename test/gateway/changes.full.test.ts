/** Lists of upstreams may change at any time, even while they are read. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { notes, openGateway } from './stage.ts';

const raw = (...args: string[]) => ({
  command: process.execPath,
  args: [
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'servers/raw.ts'),
    ...['--tools', '["crash"]', ...args],
  ],
});

test('a tool that appears while the tools are read is listed', async () => {
  await using stage = await openGateway({ mcpServers: { raw: raw('--restless') } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  const names = async () => {
    const { tools } = (await client.tasks.request('tools/list', {})) as unknown as {
      tools: { name: string }[];
    };
    return tools.map(({ name }) => name);
  };
  await expect.poll(names).toContain('late');
});

test('capabilities that an upstream gains with a restart are offered', async () => {
  const { file } = notes();
  await using stage = await openGateway({ mcpServers: { raw: raw('--starts', file) } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  await expect(client.tasks.request('prompts/list', {})).rejects.toThrow();
  await expect(client.tasks.callTool({ name: 'crash' })).rejects.toMatchObject({ rpcCode: -32603 });
  await expect
    .poll(() => client.tasks.request('prompts/list', {}).catch(() => undefined))
    .toMatchObject({
      prompts: [{ name: 'greet' }],
    });
});

test('the tools of an upstream that reports changes at every read are read once a second', async () => {
  await using stage = await openGateway({ mcpServers: { raw: raw('--chatty') } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  const listedAt = async () => {
    const { tools } = (await client.tasks.request('tools/list', {})) as unknown as {
      tools: { name: string }[];
    };
    return tools.flatMap(({ name }) => (name.startsWith('at_') ? [Number(name.slice('at_'.length))] : []));
  };
  await expect.poll(async () => (await listedAt()).length).toBeGreaterThan(3);
  const [first, second, third] = await listedAt();
  expect(second! - first!).toBeGreaterThan(900);
  expect(third! - second!).toBeGreaterThan(900);
});
