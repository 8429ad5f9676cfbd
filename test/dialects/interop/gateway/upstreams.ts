/** The servers of others behind the gateway, each with the same things to do under names of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gatewayProcess } from '../../../gateway/processes.ts';
import { everything, toyWith } from '../../../gateway/stage.ts';

export interface Doing {
  readonly tool: string;
  readonly input?: Record<string, string | number | boolean>;
  /** What its result says. */
  readonly says: RegExp;
}

export interface Upstream {
  readonly title: string;
  readonly plain: Doing;
  readonly long: Doing;
  readonly asking: Doing;
  readonly failing: Doing;
  /** Tells how far it is by numbers. */
  readonly counting: Doing;
  /** … and by its status, for those who hear of nothing else. */
  readonly telling: Doing;
  /** Goes on for a minute. */
  readonly endless: Doing;
}

function everythingAs(title: string, prefix: string): Upstream {
  const long = {
    tool: `${prefix}_trigger-long-running-operation`,
    input: { duration: 1, steps: 4 },
    says: /completed/,
  };
  return {
    title,
    plain: { tool: `${prefix}_echo`, input: { message: 'tides' }, says: /^Echo: tides$/ },
    long,
    asking: { tool: `${prefix}_trigger-elicitation-request`, says: /Name: Ada/ },
    failing: { tool: `${prefix}_get-sum`, input: { a: 'one', b: 2 }, says: /Invalid|expected number/i },
    counting: long,
    telling: {
      ...long,
      tool: `${prefix}_simulate-research-query`,
      input: { topic: 'tides' },
      says: /Research Report/,
    },
    endless: { ...long, input: { duration: 60, steps: 60 } },
  };
}

export const upstreams: readonly Upstream[] = [
  everythingAs('server-everything over stdio', 'stdio'),
  everythingAs('server-everything over HTTP', 'http'),
  {
    title: 'a task server of SDK 1.x',
    plain: { tool: 'pid', says: /^\d+$/ },
    long: { tool: 'work', input: { file: '/dev/null', ms: 500 }, says: /^worked$/ },
    asking: { tool: 'ask', says: /"name":"Ada"/ },
    failing: { tool: 'work', input: { file: '/dev/null', ms: 50, fails: true }, says: /^worked$/ },
    counting: { tool: 'progress', says: /^all parts$/ },
    telling: { tool: 'progress', says: /^all parts$/ },
    endless: { tool: 'work', input: { file: '/dev/null', ms: 60_000 }, says: /^worked$/ },
  },
];

export async function openGateway(folder: string): Promise<AsyncDisposable & { readonly url: URL }> {
  const port = await freePort();
  const bindHere = pathToFileURL(join(import.meta.dirname, 'bind-here.mjs')).href;
  const [main] = everything.args;
  const http = spawn(process.execPath, ['--import', bindHere, main!, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await once(http.stderr, 'data');
  const mcpServers = {
    stdio: everything,
    http: { url: `http://127.0.0.1:${port}/mcp` },
    sdk1: toyWith('--tasks'),
  };
  const gateway = await gatewayProcess({ mcpServers }, folder).start();
  return {
    url: gateway.url,
    async [Symbol.asyncDispose]() {
      await gateway.kill('SIGTERM');
      const ended = once(http, 'exit');
      http.kill('SIGKILL');
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
