/**
 * `mcpdo`, the Inspector's command line. Its connections live in a background process of its own, which gets a home of
 * its own here and is ended with the case.
 */
import { deepEqual, equal, match } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../chaos/until.ts';
import type { InteropCase } from './case.ts';
import type { World } from './world.ts';

const program = join(import.meta.dirname, '../../node_modules/.bin/mcpdo');

interface Said {
  readonly code: number;
  /** What it printed. */
  readonly answer: { readonly [member: string]: unknown };
}

export class Mcpdo implements AsyncDisposable {
  readonly #home: string;
  readonly #env: NodeJS.ProcessEnv;
  #last: Promise<unknown> = Promise.resolve();
  #isEnded = false;

  constructor(home: string) {
    this.#home = home;
    this.#env = {
      PATH: process.env.PATH,
      HOME: home,
      MCP_INSPECTOR_DAEMON_DIR: home,
      MCP_INSPECTOR_DAEMON_TOKEN: randomUUID(),
      MCP_INSPECTOR_SECRET_STORE: 'memory',
    };
  }

  run(...words: string[]): Promise<Said> {
    if (this.#isEnded) throw new Error('The world has ended.');
    const args = [program, '--format', 'json', '--connection', 'fixture', ...words];
    const { promise, resolve, reject } = Promise.withResolvers<Said>();
    const child = execFile(process.execPath, args, { env: this.#env }, (error, stdout, stderr) => {
      if (stdout.trim() === '') return reject(new Error(`mcpdo ${words.join(' ')}: ${stderr.trim()}`));
      resolve({ code: error ? Number(error.code) : 0, answer: JSON.parse(stdout) });
    });
    child.stdin?.end();
    this.#last = promise.catch(() => {});
    return promise;
  }

  /** The background process is there when a command is over, and takes its lock away as the last thing. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    await this.#last;
    const lock = join(this.#home, 'mcpdod.lock');
    if (!existsSync(lock)) return;
    process.kill(Number(readFileSync(lock, 'utf8')));
    await until(() => !existsSync(lock));
  }
}

async function connect(world: World): Promise<Mcpdo> {
  const mcpdo = await world.own(world.folder().then((home) => new Mcpdo(home)));
  const { answer } = await mcpdo.run('connect', world.url.href, '--era', 'modern');
  equal(answer.protocolEra, 'modern');
  return mcpdo;
}

export const inspector: readonly InteropCase[] = [
  {
    title: 'mcpdo: a durable tool is called, and its result printed',
    async run(world) {
      await using mcpdo = await connect(world);
      const { code, answer } = await mcpdo.run('tools/call', 'slow_compute', 'seconds:=0.5', 'label:=tides');
      deepEqual([code, answer.content], [0, [{ type: 'text', text: 'done tides' }]]);
    },
  },
  {
    title: 'mcpdo: a tool for clients with tasks only is called, and its error result printed',
    async run(world) {
      await using mcpdo = await connect(world);
      const { code, answer } = await mcpdo.run('tools/call', 'failing_job');
      deepEqual([code, answer.isError], [5, true]);
    },
  },
  {
    title: 'mcpdo: a question of a task is printed, and answered by another command',
    async run(world) {
      await using mcpdo = await connect(world);
      const asked = await mcpdo.run('tools/call', 'ask_name');
      const pending = asked.answer.elicitationPending as Record<string, string>;
      equal(pending.origin, 'task-input-required');
      match(pending.message!, /What is your name/);
      const { answer } = await mcpdo.run('elicitation/respond', pending.elicitationId!, 'name:=Ada');
      deepEqual(answer.content, [{ type: 'text', text: 'Hello, Ada!' }]);
    },
  },
];
