/** The gateway starts an upstream program only once: it may be slow to start, or allow only one instance. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { textOf } from '../kit/text.ts';
import { notes, openGateway } from './stage.ts';

const program = (starts: string, ...args: string[]) => ({
  command: process.execPath,
  args: [
    ...['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'servers/raw.ts')],
    ...['--starts', starts, '--tools', '["pid","crash"]', ...args],
  ],
});

test.each([
  ['2025-11-25', [], 1],
  ['2026-07-28', ['--modern'], 1],
  // It exits when it is asked for its revision, and is not asked again.
  ['2025-11-25 that exits on a request before initialize', ['--strict'], 2],
])('a program of %s runs once, and is restarted after a crash', async (_, args, times) => {
  const { file, lines } = notes();
  await using stage = await openGateway({ mcpServers: { one: program(file, ...args) } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toBe(
    lines()[times - 1]!.replace('started', 'pid'),
  );
  expect(lines()).toHaveLength(times);
  await expect(client.tasks.callTool({ name: 'crash' })).rejects.toMatchObject({ rpcCode: -32603 });
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toBe(
    lines()[times]!.replace('started', 'pid'),
  );
  expect(lines()).toHaveLength(times + 1);
});
