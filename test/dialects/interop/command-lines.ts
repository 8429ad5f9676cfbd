/**
 * Clients that are command lines: `mcpdo` of the Inspector and `mcpc` of Apify. The connections of each live in a
 * background process, which has a home of its own here and is ended with it.
 *
 * `mcpc` knows no elicitation, and it stands on the SDK's first generation: a call that waits for its task drops the
 * result of a task that failed, although an error result is one; `tasks-result` prints it.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { Program } from '../../kit/process.ts';
import { until } from '../../kit/until.ts';
import { type Cases, casesOf, type InteropCases, oneByOne, says } from './case.ts';
import { compileCache } from './fixture.ts';
import type { World } from './world.ts';

/** One of the programs, as it is told where its home is and as it keeps account of its background process there. */
interface Kind {
  readonly name: string;
  /** These come with every command. */
  readonly words: readonly string[];
  env(home: string): NodeJS.ProcessEnv;
  readonly file: string;
  background(text: string): { readonly pid: number; readonly mcpSessionId?: string };
}

type CommandLine = ReturnType<typeof commandLine>;

function commandLine(kind: Kind, home: string) {
  const program = join(import.meta.dirname, '../../../node_modules/.bin', kind.name);
  // It starts its background process as whatever is called node.
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { PATH, HOME: home, ...compileCache, ...kind.env(home) };
  let last: Promise<unknown> = Promise.resolve();

  const background = () => {
    const file = join(home, kind.file);
    return existsSync(file) ? kind.background(readFileSync(file, 'utf8')) : undefined;
  };
  /** The background process is there when a command is over. */
  const endBackground = async (signal: NodeJS.Signals) => {
    const { pid } = background() ?? {};
    if (pid === undefined || !isAlive(pid)) return;
    process.kill(pid, signal);
    await until(() => !isAlive(pid));
  };
  return {
    background,
    endBackground,
    /** The exit code, and what it printed or complained of. */
    async run(...words: string[]) {
      const command = [process.execPath, program, ...words, ...kind.words];
      const running = new Program(command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
      last = running.exit;
      const { code } = await running.exit;
      const answer: Readonly<Record<string, unknown>> = JSON.parse(
        running.output.trim() || running.complaints,
      );
      return { code, answer };
    },
    async [Symbol.asyncDispose]() {
      await last;
      await endBackground('SIGTERM');
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

// --- mcpdo ------------------------------------------------------------------------------------------------

const mcpdo: Kind = {
  name: 'mcpdo',
  words: ['--format', 'json', '--connection', 'fixture'],
  env: (home) => ({
    MCP_INSPECTOR_DAEMON_DIR: home,
    MCP_INSPECTOR_DAEMON_TOKEN: randomUUID(),
    MCP_INSPECTOR_SECRET_STORE: 'memory',
  }),
  file: 'mcpdod.lock',
  background: (pid) => ({ pid: Number(pid) }),
};

/**
 * Connected once for all cases that are run one by one: each command is a process already, and what one call asks is
 * printed by every command on the connection.
 */
export async function connectMcpdo(world: World, url: URL, user = 'inspector') {
  const one = await world.shared(`mcpdo of ${user}`, async () => {
    const made = commandLine(mcpdo, world.folder());
    const { answer } = await made.run('connect', url.href, '--era', 'modern');
    equal(answer.protocolEra, 'modern');
    return made;
  });
  // It stays until the world ends.
  return { run: (...words: string[]) => one.run(...words), async [Symbol.asyncDispose]() {} };
}

const casesOfMcpdo: Cases<Awaited<ReturnType<typeof connectMcpdo>>> = {
  async 'a durable tool is called, and its result printed'({ run }) {
    const { code, answer } = await run('tools/call', 'slow_compute', 'seconds:=0.5', 'label:=tides');
    equal(code, 0);
    says(answer, 'done tides');
  },
  async 'a tool for clients with tasks only is called, and its error result printed'({ run }) {
    const { code, answer } = await run('tools/call', 'failing_job');
    deepEqual([code, answer.isError], [5, true]);
  },
  async 'a question of a task is printed, and answered by another command'({ run }) {
    const asked = await run('tools/call', 'ask_name');
    const pending = asked.answer.elicitationPending as Record<string, string>;
    equal(pending.origin, 'task-input-required');
    match(pending.message!, /What is your name/);
    const { answer } = await run('elicitation/respond', pending.elicitationId!, 'name:=Ada');
    says(answer, 'Hello, Ada!');
  },
};

// --- mcpc -------------------------------------------------------------------------------------------------

const session = '@fixture';

const mcpc: Kind = {
  name: 'mcpc',
  words: ['--json'],
  env: (home) => ({ MCPC_HOME_DIR: home }),
  // Its background process, the bridge, and the id by which the server knows the session.
  file: 'sessions.json',
  background: (text) => JSON.parse(text).sessions[session],
};

async function connectMcpc(world: World, url: URL): Promise<CommandLine> {
  const made = await world.own(Promise.resolve(commandLine(mcpc, world.folder())));
  const { answer } = await made.run('connect', url.href, session);
  equal(answer.protocolVersion, '2025-11-25');
  return made;
}

const casesOfMcpc: Cases<CommandLine> = {
  async 'a call as a task prints its result; if that is an error, only tasks-result does'(client) {
    const call = (...words: string[]) => client.run(session, 'tools-call', ...words, '--task');
    const { code, answer } = await call('slow_compute', 'seconds:=0.5', 'label:=tides');
    equal(code, 0);
    says(answer, 'done tides');
    ok('_meta' in answer, 'It was no task.');
    const failed = await call('failing_job');
    equal(failed.code, 2);
    const [, taskId] = /Task (\w+) failed/.exec(failed.answer.error as string)!;
    const result = await client.run(session, 'tasks-result', taskId!);
    equal(result.answer.isError, true);
    says(result.answer, 'The job failed, as it always does.');
  },
  async 'a detached task is looked at, and cancelled, by later commands'(client) {
    const { answer } = await client.run(session, 'tools-call', 'nap', 'ms:=600000', '--detach');
    for (const [command, status] of [
      ['tasks-get', 'working'],
      ['tasks-cancel', 'cancelled'],
    ] as const)
      equal((await client.run(session, command, String(answer.taskId))).answer.status, status);
  },
};

export const commandLines: InteropCases = {
  ...casesOf('mcpc', async (world) => connectMcpc(world, await world.url), casesOfMcpc),
  async 'mcpc: a detached task is fetched after its bridge and the server were killed, in the same session'(
    world,
  ) {
    await using server = await world.lasting();
    await using client = await connectMcpc(world, server.url);
    const called = [session, 'tools-call', 'slow_compute', 'seconds:=2', 'label:=tides', '--detach'];
    const { taskId } = (await client.run(...called)).answer;
    const { mcpSessionId } = client.background()!;
    match(mcpSessionId!, /^\w+$/);
    await client.endBackground('SIGKILL');
    await server.kill();
    await server.start();
    says((await client.run(session, 'tasks-result', String(taskId))).answer, 'done tides');
    equal(client.background()!.mcpSessionId, mcpSessionId);
  },
  ...oneByOne(
    'mcpdo',
    casesOf('mcpdo', async (world) => connectMcpdo(world, await world.url), casesOfMcpdo),
  ),
};
