/**
 * `mcpc`, Apify's command line. Each of its sessions lives in a background process, the bridge, which gets a home of its
 * own here and is ended with the case.
 *
 * It knows no elicitation, and it stands on the SDK's first generation: a call that waits for its task drops the result
 * of a task that failed, although an error result is one; `tasks-result` prints it.
 */
import { equal, match, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { until } from '../../chaos/until.ts';
import type { InteropCase } from '../case.ts';
import { ReplaceableFixture } from '../replaceable-fixture.ts';
import { says } from '../says.ts';
import type { World } from '../world.ts';

const program = join(import.meta.dirname, '../../../node_modules/.bin/mcpc');
const session = '@fixture';

interface Said {
  readonly code: number;
  /** What it printed, or what it complained of. */
  readonly answer: { readonly [member: string]: unknown };
}

class Mcpc implements AsyncDisposable {
  readonly #home: string;
  readonly #env: NodeJS.ProcessEnv;
  #last: Promise<unknown> = Promise.resolve();
  #isEnded = false;

  constructor(home: string) {
    this.#home = home;
    // It starts its bridge as whatever is called node.
    const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
    this.#env = { PATH, HOME: home, MCPC_HOME_DIR: home };
  }

  run(...words: string[]): Promise<Said> {
    if (this.#isEnded) throw new Error('The world has ended.');
    const { promise, resolve, reject } = Promise.withResolvers<Said>();
    const args = [program, ...words, '--json'];
    const child = execFile(process.execPath, args, { env: this.#env }, (error, stdout, stderr) => {
      try {
        resolve({ code: error ? Number(error.code) : 0, answer: JSON.parse(stdout.trim() || stderr) });
      } catch {
        reject(new Error(`mcpc ${words.join(' ')}: ${stdout} ${stderr}`));
      }
    });
    child.stdin?.end();
    this.#last = promise.catch(() => {});
    return promise;
  }

  call(...words: string[]): Promise<Said> {
    return this.run(session, 'tools-call', ...words);
  }

  task(command: 'get' | 'result' | 'cancel', taskId: unknown): Promise<Said> {
    return this.run(session, `tasks-${command}`, String(taskId));
  }

  /** What it keeps on disk about the session: the bridge, and the id by which the server knows it. */
  get session(): { readonly pid: number; readonly mcpSessionId: string } | undefined {
    const file = join(this.#home, 'sessions.json');
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).sessions[session] : undefined;
  }

  async endBridge(signal: NodeJS.Signals): Promise<void> {
    const pid = this.session?.pid;
    if (pid === undefined || !isAlive(pid)) return;
    process.kill(pid, signal);
    await until(() => !isAlive(pid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    await this.#last;
    await this.endBridge('SIGTERM');
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function connect(world: World, url: URL = world.url): Promise<Mcpc> {
  const mcpc = await world.own(world.folder().then((home) => new Mcpc(home)));
  const { answer } = await mcpc.run('connect', url.href, session);
  equal(answer.protocolVersion, '2025-11-25');
  return mcpc;
}

export const mcpc: readonly InteropCase[] = [
  {
    title: 'mcpc: a call as a task prints its result; if that is an error, only tasks-result does',
    async run(world) {
      await using mcpc = await connect(world);
      const { code, answer } = await mcpc.call('slow_compute', 'seconds:=0.5', 'label:=tides', '--task');
      equal(code, 0);
      says(answer, 'done tides');
      ok('_meta' in answer, 'It was no task.');
      const failed = await mcpc.call('failing_job', '--task');
      equal(failed.code, 2);
      const [, taskId] = /Task (\w+) failed/.exec(failed.answer.error as string) ?? [];
      const result = await mcpc.task('result', taskId);
      equal(result.answer.isError, true);
      says(result.answer, 'The job failed, as it always does.');
    },
  },
  {
    title: 'mcpc: a detached task is looked at, and cancelled, by later commands',
    async run(world) {
      await using mcpc = await connect(world);
      const { answer } = await mcpc.call('nap', 'ms:=600000', '--detach');
      const { taskId } = answer;
      equal((await mcpc.task('get', taskId)).answer.status, 'working');
      equal((await mcpc.task('cancel', taskId)).answer.status, 'cancelled');
    },
  },
  {
    title:
      'mcpc: a detached task is fetched after its bridge and the server were killed, in the same session',
    async run(world) {
      await using server = await ReplaceableFixture.open(world);
      await using mcpc = await connect(world, server.url);
      const { answer } = await mcpc.call('slow_compute', 'seconds:=2', 'label:=tides', '--detach');
      const { mcpSessionId } = mcpc.session!;
      match(mcpSessionId, /^\w+$/);
      await mcpc.endBridge('SIGKILL');
      await server.replace();
      const result = await mcpc.task('result', answer.taskId);
      says(result.answer, 'done tides');
      equal(mcpc.session!.mcpSessionId, mcpSessionId);
    },
  },
];
