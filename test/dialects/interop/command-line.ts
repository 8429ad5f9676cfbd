/**
 * Programs that are clients, one command at a time. The connections of each live in a background process, which has a
 * home of its own here and ends with the test file at the latest.
 */
import { equal } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { Program } from '../../kit/process.ts';
import { until } from '../../kit/until.ts';
import { compileCache } from './fixture.ts';
import { folder } from './world.ts';

/** One of the programs, as it is told where its home is and as it keeps account of its background process there. */
interface Kind {
  readonly name: string;
  readonly words: readonly string[];
  env(home: string): NodeJS.ProcessEnv;
  readonly file: string;
  background(text: string): { readonly pid: number; readonly mcpSessionId?: string };
}

export type CommandLine = ReturnType<typeof commandLine>;

const made: CommandLine[] = [];
afterAll(() => Promise.all(made.map((one) => one[Symbol.asyncDispose]())));

async function connect(kind: Kind, ...words: string[]) {
  const one = commandLine(kind, folder());
  made.push(one);
  const { answer } = await one.run('connect', ...words);
  return { one, answer };
}

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

export async function connectMcpdo(url: URL): Promise<CommandLine> {
  const { one, answer } = await connect(mcpdo, url.href, '--era', 'modern');
  equal(answer.protocolEra, 'modern');
  return one;
}

export const session = '@fixture';

const mcpc: Kind = {
  name: 'mcpc',
  words: ['--json'],
  env: (home) => ({ MCPC_HOME_DIR: home }),
  // Its background process, the bridge, and the id by which the server knows the session.
  file: 'sessions.json',
  background: (text) => JSON.parse(text).sessions[session],
};

export async function connectMcpc(url: URL): Promise<CommandLine> {
  const { one, answer } = await connect(mcpc, url.href, session);
  equal(answer.protocolVersion, '2025-11-25');
  return one;
}
