/** The tools of upstreams that die during a call stay in the list and in the cache file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TaskClient } from 'holdfast/client';
import { describe, expect, test, vi } from 'vitest';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import type { ServerProcess } from '../kit/server-process.ts';
import { textOf } from '../kit/text.ts';
import { until } from '../kit/until.ts';
import { gatewayProcess, toyProcess } from './processes.ts';
import { notes, openGateway, toy } from './stage.ts';

vi.setConfig({ testTimeout: 600_000 });

const kills = 8;
const listsIn = (folder: string) => join(folder, 'tasks.db-lists.json');

async function toolsOf(tasks: TaskClient): Promise<string[]> {
  return namesOf(await tasks.request('tools/list', {})).filter((name) => !name.startsWith('task_'));
}

function cachedTools(folder: string): string[] {
  return namesOf(JSON.parse(readFileSync(listsIn(folder), 'utf8')).toy);
}

function namesOf({ tools }: object & { tools?: unknown }): string[] {
  return (tools as { name: string }[]).map(({ name }) => name);
}

interface Victim extends AsyncDisposable {
  readonly entry: object;
  /** Kills it, and starts it again if nobody else does. */
  kill(pid: number): Promise<void>;
}

const spawned = async (): Promise<Victim> => ({
  entry: toy,
  kill: async (pid) => void process.kill(pid, 'SIGKILL'),
  [Symbol.asyncDispose]: async () => {},
});

async function overHttp(): Promise<Victim> {
  const server: ServerProcess = await toyProcess().start();
  return {
    entry: { url: server.url.href },
    kill: async () => {
      await server.kill();
      await server.start();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Polls, and collects everything that was ever missing. */
function collect(missing: () => Promise<readonly string[]>) {
  const seen = new Set<string>();
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; await pause(20)) for (const name of await missing()) seen.add(name);
  })();
  watching.catch(() => {});
  return {
    end: async () => {
      isOver = true;
      await watching;
      return [...seen];
    },
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await watching.catch(() => {});
    },
  };
}

describe.each([
  ['that the gateway spawned', spawned],
  ['over HTTP', overHttp],
])('an upstream %s', (_, open) => {
  test(`is killed ${kills} times in the middle of a call, and its tools are listed throughout`, async () => {
    const { file, lines } = notes();
    const folder = dirname(file);
    await using victim = await open();
    await using gateway = await gatewayProcess({ mcpServers: { toy: victim.entry } }, folder).start();
    await using client = await connectOurClient(gateway.url);
    const { tasks } = client;
    const all = await toolsOf(tasks);
    expect(all).toContain('write');
    await using watch = collect(async () => {
      const [listed, cached] = [await toolsOf(tasks), cachedTools(folder)];
      return all.filter((name) => !listed.includes(name) || !cached.includes(name));
    });

    let pid = Number(textOf(await tasks.callTool({ name: 'pid' })));
    for (let kill = 1; kill <= kills; kill++) {
      const ended = tasks.callTool({ name: 'write', arguments: { file, ms: 60_000 } });
      ended.catch(() => {});
      await until(() => lines().length === kill);
      await victim.kill(pid);
      await expect(ended).rejects.toMatchObject({ rpcCode: -32603 });
      const next = Number(textOf(await tasks.callTool({ name: 'pid' })));
      expect(next).not.toBe(pid);
      pid = next;
    }
    expect(lines()).toEqual(Array(kills).fill('begun'));

    // The list that contains `grown` was read after the last restart.
    await tasks.callTool({ name: 'grow' });
    await expect.poll(() => toolsOf(tasks)).toContain('grown');
    expect(await watch.end()).toEqual([]);
  });
});

const raw = (...args: string[]) => ({
  command: process.execPath,
  args: [
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'servers/raw.ts'),
    ...['--tools', '["pid","crash"]', ...args],
  ],
});

test('an upstream that is killed while idle is started again', async () => {
  const { file, lines } = notes();
  await using stage = await openGateway({ mcpServers: { raw: raw('--starts', file) } });
  await using client = await connectOurClient(stage.url);
  process.kill(Number(lines()[0]!.replace('started ', '')), 'SIGKILL');
  await expect.poll(() => lines().length).toBe(2);
  expect(await toolsOf(client.tasks)).toEqual(['pid', 'crash']);
});

test('a call is not repeated if it killed its upstream and the restart fails at first', async () => {
  const [starts, calls] = [notes(), notes()];
  await using stage = await openGateway({
    mcpServers: { raw: raw('--starts', starts.file, '--calls', calls.file, '--flaky') },
  });
  await using client = await connectOurClient(stage.url);
  await expect(client.tasks.callTool({ name: 'crash' })).rejects.toMatchObject({ rpcCode: -32603 });
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toMatch(/^pid/);
  expect(calls.lines()).toEqual(['crash', 'pid']);
});

test('the gateway waits for an upstream whose cached lists are empty', async () => {
  const { file } = notes();
  const folder = dirname(file);
  const empty = { capabilities: {}, tools: [], prompts: [], resources: [], resourceTemplates: [] };
  writeFileSync(listsIn(folder), JSON.stringify({ toy: empty }));
  await using gateway = await gatewayProcess({ mcpServers: { toy } }, folder).start();
  await using client = await connectOurClient(gateway.url);
  expect(await toolsOf(client.tasks)).toContain('write');
});
