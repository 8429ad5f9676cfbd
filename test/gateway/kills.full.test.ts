/** The gateway is killed during calls of every kind. After the restart each of them has a correct outcome. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { connectTasks, type TaskHandle } from 'holdfast/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFixture } from '../dialects/interop/fixture.ts';
import type { ServerProcess } from '../kit/server-process.ts';
import { textOf } from '../kit/text.ts';
import { until } from '../kit/until.ts';
import { processesOf } from './process-table.ts';
import { gatewayProcess, toyProcess } from './processes.ts';
import { notes, toy, toyWith } from './stage.ts';

const fileInput = { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] };
/** Exits only if it is run a second time. */
const script = 'if [ -s "$1" ]; then echo again >> "$1"; else echo begun >> "$1"; sleep 600; fi';

describe.each([
  ['2025-11-25', false],
  ['2026-07-28', true],
])('for a client of %s', (_, isModern) => {
  let folder: string;
  let fixture: ServerProcess;
  let older: ServerProcess;
  let gateway: ServerProcess;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-kills-'));
    [fixture, older] = await Promise.all([
      startFixture('--store', `sqlite:${join(folder, 'fixture.db')}`),
      toyProcess('--tasks').start(),
    ]);
    gateway = await gatewayProcess(
      {
        mcpServers: {
          plain: toy,
          tasks: { url: fixture.url.href },
          spawned: { ...toyWith('--tasks'), tools: { work: { task: 'always' } } },
          older: { url: older.url.href },
        },
        commands: {
          once: { command: script, shell: true, args: ['{file}'], inputSchema: fileInput },
          again: { command: script, shell: true, args: ['{file}'], inputSchema: fileInput, idempotent: true },
        },
      },
      folder,
    ).start();
  });

  afterAll(async () => {
    await Promise.all([gateway, older, fixture].map((one) => one?.[Symbol.asyncDispose]()));
    rmSync(folder, { recursive: true, force: true });
  });

  test('each call gets a correct outcome, finished calls are kept, and running ones are not started again', async () => {
    const answers = new Map<string, PromiseWithResolvers<object>>();
    const client = new Client(
      { name: 'kills', version: '1' },
      isModern ? { versionNegotiation: { mode: 'auto' } } : {},
    );
    await using tasks = await connectTasks(client, gateway.url, {
      registry: 'memory:',
      pace: { floorMs: 20, ceilingMs: 200 },
      answer: async (question) => {
        const message = question.kind === 'form' ? question.message : question.kind;
        const answer = answers.get(message) ?? Promise.withResolvers<object>();
        answers.set(message, answer);
        return (await answer.promise) as never;
      },
    });
    const call = async (tool: string, input = {}): Promise<TaskHandle> => {
      const handle = await tasks.call(tool, input);
      expect(handle.taskId, tool).toBeDefined();
      return handle;
    };
    const files = Object.fromEntries(
      ['write', 'look', 'ledger', 'older', 'spawned', 'once', 'again'].map((name) => [name, notes()]),
    ) as Record<string, ReturnType<typeof notes>>;
    const file = (name: string) => files[name]!.file;

    const finished = await call('slow_compute', { seconds: 0.5, label: 'before' });
    await finished.result();
    const [write, look, ledger, olderWork, spawned, askName, ask, once, again] = await Promise.all([
      call('plain_write', { file: file('write'), ms: 60_000 }),
      call('plain_look', { file: file('look'), ms: 1_500 }),
      call('ledger', { file: file('ledger'), steps: 30, delayMs: 100 }),
      call('older_work', { file: file('older'), ms: 3_000 }),
      call('spawned_work', { file: file('spawned'), ms: 60_000 }),
      call('ask_name'),
      call('plain_ask'),
      call('once', { file: file('once') }),
      call('again', { file: file('again') }),
    ]);
    for (const { lines } of Object.values(files)) await until(() => lines().length > 0);
    await until(() => answers.size === 2);

    await gateway.kill();
    await gateway.start();

    // The questions are answered only now.
    for (const answer of answers.values()) answer.resolve({ action: 'accept', content: { name: 'Ada' } });

    expect(textOf(await finished.result())).toBe('done before');
    expect(textOf(await askName.result())).toBe('Hello, Ada!');
    expect(textOf(await ledger.result())).toBe('done 30');
    expect(files.ledger!.lines().map((line) => Number(line.split(' ')[0]))).toEqual(
      Array.from({ length: 30 }, (_, n) => n + 1),
    );
    expect(textOf(await olderWork.result())).toBe('worked');
    expect(files.older!.lines()).toEqual(['begun', 'done']);

    await expect(write.result()).rejects.toThrow(/may have been executed/);
    expect(files.write!.lines().filter((line) => line === 'begun')).toHaveLength(1);
    await expect(ask.result()).rejects.toThrow(/may have been executed/);
    await expect(spawned.result()).rejects.toThrow(/may have been executed in part/);
    expect(textOf(await look.result())).toBe('worked');

    await expect(once.result()).rejects.toThrow(/may have run in part/);
    expect(files.once!.lines()).toEqual(['begun']);
    expect(processesOf(once.taskId!)).toEqual([]);
    expect(await again.result()).toMatchObject({ structuredContent: { exitCode: 0 } });
    expect(files.again!.lines()).toEqual(['begun', 'again']);
  }, 600_000);
});
