import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFixture } from './dialects/interop/fixture.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-example-'));
});
afterEach(() => rm(folder, { recursive: true }));

const root = join(import.meta.dirname, '..');

function start(example: string, ...args: string[]): ChildProcessByStdio<null, Readable, null> {
  return startFile(`${example}/${example}.ts`, ...args, '--db', join(folder, 'example.db'));
}

function startFile(file: string, ...args: string[]): ChildProcessByStdio<null, Readable, null> {
  const options = ['--conditions=holdfast-source', '--disable-warning=ExperimentalWarning'];
  return spawn(process.execPath, [...options, join(root, 'examples', file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Runs an example to its end, or kills it when it has printed a certain line. */
async function run(
  child: ReturnType<typeof start>,
  killAt?: string,
): Promise<{ lines: string[]; code: number | null }> {
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (killAt !== undefined && text.includes(killAt)) child.kill('SIGKILL');
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { lines: text.trim().split('\n'), code };
}

test('quickstart: killed in the middle and run again, it goes on where it was', async () => {
  const first = await run(start('quickstart'), 'pouring cup 2\n');
  expect(first).toEqual({ lines: ['boiling water …', 'pouring cup 1', 'pouring cup 2'], code: null });
  const second = await run(start('quickstart'));
  expect(second.code).toBe(0);
  // The cup that was being poured may be poured again; nothing before it is.
  const rest = second.lines.filter((line) => line !== 'pouring cup 2');
  expect(rest.slice(0, 3)).toEqual(['pouring cup 3', 'pouring cup 4', 'pouring cup 5']);
  expect(rest.slice(3).join(' ')).toMatch(/^done: .*served: 5/);
});

test('approval: the question outlives the process that asked it', async () => {
  const asked = await run(start('approval', 'ask'));
  expect(asked.code).toBe(0);
  const [, id] = /^(\S+) waits/m.exec(asked.lines.join('\n'))!;
  const answered = await run(start('approval', 'answer', id!, 'yes'));
  expect(answered.code).toBe(0);
  expect(answered.lines.join('\n')).toContain('Published: All about tides.');
  expect(answered.lines).not.toContain('drafting …');
});

test('authoring: every snippet of the guide holds', async () => {
  expect((await run(start('authoring'))).code).toBe(0);
});

test('fan-out: subtasks run beside each other and their results come in order', async () => {
  expect((await run(start('fan-out'))).code).toBe(0);
});

test('hosts: one handler under node:http, Express and Hono', async () => {
  const { lines, code } = await run(start('hosts'));
  expect(code).toBe(0);
  expect(lines).toEqual(['Hello from node:http.', 'Hello from Express.', 'Hello from Hono.']);
});

test('plain-clients: a client without tasks calls what it is told to, and gets the result', async () => {
  const { lines, code } = await run(start('plain-clients'));
  expect(code).toBe(0);
  expect(lines[0]).toBe('working: task_wait');
  expect(lines).toContain('input_required: task_answer');
  expect(lines.at(-1)).toBe('Ebb and flow: all about tides.');
});

test('server: killed while its client polls, it comes back and the task goes on to its end', async () => {
  const first = start('server', '--port', '0');
  const port = await portOf(first);
  const client = startFile('server/client.ts', '--url', `http://127.0.0.1:${port}/mcp`);
  const told = run(client);
  await printed(client, 'Wrote page 2');
  first.kill('SIGKILL');
  const second = start('server', '--port', String(port));
  const { lines, code } = await told;
  second.kill('SIGTERM');
  expect(code).toBe(0);
  expect(lines.at(-1)).toBe('Published 6 pages about tides.');
  expect((await run(second)).code).toBe(0);
});

async function portOf(server: ReturnType<typeof start>): Promise<number> {
  const [, port] = /ready http:\/\/127\.0\.0\.1:(\d+)/.exec(await printed(server, '/mcp\n'))!;
  return Number(port);
}

function printed(child: ReturnType<typeof start>, words: string): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    child.stdout.on('data', (chunk: Buffer | string) => {
      text += chunk;
      if (text.includes(words)) resolve(text);
    });
  });
}

test('calling: a host that is killed while it waits goes on with its call, and asks nothing twice', async () => {
  await using fixture = await startFixture();
  process.env.HANDLES = `sqlite:${join(folder, 'handles.db')}`;
  const called = startFile('calling/calling.ts', fixture.url.href, 'slow_compute', '{"seconds": 2}');
  expect((await run(called, 'working')).code).toBe(null);
  const resumed = await run(startFile('calling/calling.ts', fixture.url.href, '--resume'));
  expect(resumed.lines.join()).toContain('"text":"done"');
  const again = await run(startFile('calling/calling.ts', fixture.url.href, '--resume'));
  expect(again).toEqual({ lines: [''], code: 0 });
  const asked = await run(startFile('calling/calling.ts', fixture.url.href, 'ask_name'));
  expect(asked.lines.filter((line) => line.startsWith('asked'))).toEqual(['asked: What is your name?']);
  expect(asked.lines.at(-1)).toContain('Hello, Kelp!');
});
