/** The servers of others behind the gateway, each with the same things to do under names of its own. */
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gatewayProcess } from '../../../gateway/processes.ts';
import { everything, toyWith } from '../../../gateway/stage.ts';
import { freePort } from '../../../kit/port.ts';
import { Program } from '../../../kit/process.ts';

export interface Doing {
  readonly tool: string;
  readonly input?: Record<string, string | number | boolean>;
  readonly says: RegExp;
}

export interface Upstream
  extends Readonly<
    Record<'plain' | 'long' | 'asking' | 'failing' | 'counting' | 'telling' | 'endless', Doing>
  > {
  readonly title: string;
}

/** Some things count how far they are, others tell it by their status; an endless one goes on for a minute. */
function everythingAs(title: string, prefix: string): Upstream {
  const doing = (tool: string, says: RegExp, input: Doing['input'] = {}): Doing => ({
    tool: `${prefix}_${tool}`,
    input,
    says,
  });
  const lasting = (duration: number, steps: number) =>
    doing('trigger-long-running-operation', /completed/, { duration, steps });
  return {
    title,
    plain: doing('echo', /^Echo: tides$/, { message: 'tides' }),
    long: lasting(1, 4),
    asking: doing('trigger-elicitation-request', /Name: Ada/),
    failing: doing('get-sum', /Invalid|expected number/i, { a: 'one', b: 2 }),
    counting: lasting(1, 4),
    telling: doing('simulate-research-query', /Research Report/, { topic: 'tides' }),
    endless: lasting(60, 60),
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
  const http = new Program([process.execPath, '--import', bindHere, main!, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
  });
  await once(http.child.stderr!, 'data');
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
      await http.kill();
    },
  };
}
