/** The names of the four tools for plain clients are reserved, and the config sets their prefix. */
import { expect, test } from 'vitest';
import { configIn } from '../../src/gateway/config/config.ts';
import { parseConfig } from '../../src/gateway/config/config-file.ts';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { textOf } from '../kit/text.ts';
import { openGateway } from './stage.ts';

test('a command with a reserved name is listed under another name', async () => {
  await using stage = await openGateway({ commands: { task_wait: { command: 'echo', args: ['hello'] } } });
  const { tasks } = await connectOurClient(stage.url, { isModern: true });
  try {
    const result = await tasks.callTool({ name: 'command_task_wait', arguments: {} });
    expect(textOf(result as never)).toContain('hello');
  } finally {
    await tasks.close();
  }
});

test.each([
  [{ plainClients: 'sometimes' }, '"plainClients" must be'],
  [{ plainClients: { handOver: '1s' } }, 'unknown key "handOver" in "plainClients"'],
])('%j is rejected', (config, reason) => {
  const text = JSON.stringify({ mcpServers: {}, ...config }, null, 2);
  expect(() => configIn(parseConfig(text, 'holdfast.json'))).toThrow(reason);
});
