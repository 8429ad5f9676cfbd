/** `holdfast serve` as users and MCP hosts start it. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { configIn } from '../../src/gateway/config/config.ts';
import { parseConfig } from '../../src/gateway/config/config-file.ts';
import { Gateway } from '../../src/gateway/gateway-server.ts';
import { sqlite } from '../../src/sqlite.ts';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { temporaryFolder } from '../kit/lifetime.ts';
import { freePort } from '../kit/port.ts';
import { Program } from '../kit/process.ts';
import { ServerProcess } from '../kit/server-process.ts';
import { textOf } from '../kit/text.ts';
import { until } from '../kit/until.ts';
import { expectWithin } from '../kit/within.ts';
import { gatewayProcess, holdfast, toyProcess } from './processes.ts';
import { notes, toy } from './stage.ts';

const home = temporaryFolder();
const serve = (...words: string[]) => holdfast('serve', ...words);
const env = { ...(process.env as Record<string, string>), XDG_DATA_HOME: home, HOME: home };
const at = { env, cwd: home };

async function run(...words: string[]) {
  const gateway = new Program(serve(...words), { ...at, stdio: ['ignore', 'pipe', 'pipe'] });
  const { code } = await gateway.exit;
  return { code, stdout: gateway.output, stderr: gateway.complaints };
}

function served(...words: string[]): Promise<ServerProcess> {
  return new ServerProcess(() => serve(...words)).start();
}

test.concurrent('prints its usage', async () => {
  const { code, stdout } = await run('--help');
  expect(code).toBe(0);
  expect(stdout).toContain('Usage: holdfast serve [--config FILE] [--port N | --stdio] [--store URL]');
});

test.concurrent.each([
  [['--port', 'x', '--', 'true'], '"x" is not a port'],
  [['--stdio', '--port', '1', '--', 'true'], '--port and --stdio cannot be used together'],
  [['--config', 'x', '--', 'true'], '--config and a command after -- cannot be used together'],
  [['--store', 'redis://x', '--', 'true'], '"redis://x" is not a store URL'],
  [['--'], '-- must be followed by the command'],
  [[], 'this folder has no holdfast.json'],
])('wrong usage is reported in one sentence: %j', async (words, sentence) => {
  const { code, stderr } = await run(...words);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  expect(stderr).toContain(sentence);
});

test.concurrent('a wrong config is reported with the line', async () => {
  const file = join(home, 'wrong.json');
  writeFileSync(file, '{\n  "mcpServers": {\n    "a": { "comand": "x" }\n  }\n}\n');
  expect(await run('--config', file)).toEqual({
    code: 1,
    stdout: '',
    stderr: `holdfast: ${file}:3: unknown key "comand" in "mcpServers.a": did you mean "command"?\n`,
  });
});

test.concurrent('it exits if the store cannot be opened', async () => {
  const file = join(home, 'notes.txt');
  writeFileSync(file, 'This is no database.');
  const { code, stdout, stderr } = await run('--port', '0', '--store', `sqlite:${file}`, '--', 'false');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('notes.txt: this file is not a SQLite database');
});

test.concurrent('it exits at the end of its input even if a server does not answer', async () => {
  const startedAt = performance.now();
  const { code, stderr } = await run('--stdio', '--store', 'memory:', '--', 'sleep', '600');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // The wait for the server would end after 30 s.
  expectWithin(28_000, performance.now() - startedAt);
});

test('a closed gateway does not wait for servers or start work', async () => {
  const { file, lines } = notes();
  const silent = { command: 'sh', args: ['-c', 'echo "$$" >> "$0"; exec sleep 600', file] };
  const opened: string[] = [];
  const gateway = new Gateway({
    config: configIn(parseConfig(JSON.stringify({ mcpServers: { silent } }), 'holdfast.json')),
    version: '0',
    store: () => {
      opened.push('opened');
      return sqlite('memory:')();
    },
  });
  const working = gateway.work();
  await until(() => lines().length > 0);
  await gateway.close();
  await working;
  expect(opened).toEqual([]);
  await until(() => !isAlive(Number(lines()[0])));
});

test('serves one server that is given after --, and stops it on SIGTERM', async () => {
  await using gateway = await served('--port', '0', '--store', 'memory:', '--', toy.command, ...toy.args);
  await using client = await connectOurClient(gateway.url, { isModern: true });
  const upstream = Number(textOf(await client.tasks.callTool({ name: 'pid' })));
  expect(await gateway.kill('SIGTERM')).toBe(0);
  await until(() => !isAlive(upstream));
});

test('a running call has time to finish after SIGTERM', async () => {
  const { file, lines } = notes();
  await using gateway = await served('--port', '0', '--store', 'memory:', '--', toy.command, ...toy.args);
  await using client = await connectOurClient(gateway.url, { isModern: true });
  await client.tasks.call('write', { file, ms: 1_500 });
  expect(await gateway.kill('SIGTERM')).toBe(0);
  expect(lines()).toEqual(['begun', 'done']);
});

test('SIGTERM before a server has answered stops it before it is ready', async () => {
  const port = String(await freePort());
  const silent = ['-e', 'process.stdin.resume()'];
  const words = serve('--port', port, '--store', 'memory:', '--', process.execPath, ...silent);
  const gateway = new Program(words, { ...at, stdio: ['ignore', 'pipe', 'inherit'] });
  const answer = () => fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
  while (!(await answer())) await pause(20);
  expect(await gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(gateway.output).toBe('');
});

test('serves a host that starts it on stdio', async () => {
  const [command, ...words] = serve('--stdio', '--', toy.command, ...toy.args);
  const open = () => new StdioClientTransport({ command: command!, args: words, env, stderr: 'ignore' });
  for (const isModern of [false, true]) {
    await using client = await connectOurClient(open, { isModern });
    expect(textOf(await client.tasks.callTool({ name: 'progress' }))).toBe('all parts');
    expect(textOf(await client.tasks.callTool({ name: 'ask_model' }))).toContain('The tide is high.');
  }
});

test('tools of an unreachable server are still listed after a restart, and their calls report it', async () => {
  const folder = mkdtempSync(join(home, 'case-'));
  await using upstream = await toyProcess().start();
  await using gateway = await gatewayProcess(
    { mcpServers: { toy: { url: upstream.url.href } } },
    folder,
  ).start();
  {
    await using client = await connectOurClient(gateway.url);
    expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toBe(String(upstream.pid));
    await upstream.kill();
    const result = await client.tasks.callTool({ name: 'pid' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/could not be reached[\s\S]*"pid" of "toy" was not called/);
  }
  await gateway.kill();
  await gateway.start();
  await using client = await connectOurClient(gateway.url);
  expect((await client.tasks.client.listTools()).tools.map(({ name }) => name)).toContain('pid');
  const result = await client.tasks.callTool({ name: 'pid' });
  expect(textOf(result)).toMatch(/Could not reach the server[\s\S]*"pid" of "toy" was not called/);
  await upstream.start();
  for (let pid = ''; pid !== String(upstream.pid); )
    pid = textOf(await client.tasks.callTool({ name: 'pid' }));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
