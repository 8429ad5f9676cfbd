/**
 * `holdfast serve`: a gateway as a process, on a port of this machine or on standard input and output. `holdfast worker`
 * carries out the tasks of gateways on the same store, and serves nobody itself.
 */
import { join } from 'node:path';
import type { GatewayOptions } from '../../gateway/gateway-server.ts';
import { existingStore, storeAt, storePlace, storeSecrets } from '../store-url.ts';
import { countFrom, defaultPort, readArguments, say, version, WrongUsage } from '../usage.ts';
import {
  configured,
  operatorToken,
  portFrom,
  portWorded,
  sayStoreTrouble,
  started,
  usualFile,
} from './serving.ts';

const help = `Puts durable tasks in front of MCP servers and commands that have none: calls outlive connections and restarts, and
clients of every revision of MCP can make them.

Usage: holdfast serve [--config FILE] [--port N | --stdio] [--store URL] [--operator]
       holdfast serve [--port N | --stdio] [--store URL] [--operator] -- COMMAND [ARG...]

FILE has the servers under "mcpServers", as every MCP host writes them, and programs under "commands". After -- comes
the command that starts one server.

  --config FILE  what is served (default ${usualFile} here)
  --json         say what is said as JSON
  --operator     also serve the dashboard at /operator/, for this machine only: all tasks, their stories, and ways to
                 cancel, retry, answer and purge them. Whoever has its token may do all that: HOLDFAST_OPERATOR_TOKEN
                 of the environment, or one that is made at each start and printed as part of the address
  --port N       the port on 127.0.0.1, 0 for any (default: PORT of the environment, or ${defaultPort})
  --stdio        serve the one client on standard input and output, for hosts that start their servers themselves
  --store URL    where tasks are kept: sqlite:PATH, postgres://... or memory: (default: a file of this config's own in
                 the data folder of the user)
  -h, --help     say this

SIGTERM stops it: what is not done goes on at the next start.`;

export async function serve(args: readonly string[]): Promise<number> {
  const end = args.indexOf('--');
  const { values, positionals } = readArguments(end < 0 ? args : args.slice(0, end), help, {
    config: { type: 'string' },
    json: { type: 'boolean' },
    operator: { type: 'boolean' },
    port: { type: 'string' },
    stdio: { type: 'boolean' },
    store: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongUsage(`serve takes no "${positionals[0]}"`);
  if (values.stdio && values.port !== undefined)
    throw new WrongUsage('a server is either on a port or on standard input and output');
  if (values.stdio && values.operator)
    throw new WrongUsage('the dashboard needs a port: --operator and --stdio do not go together');
  const words = end < 0 ? undefined : args.slice(end + 1);
  if (words && values.config !== undefined)
    throw new WrongUsage('what is served stands in a config or after --, not both');
  const port = values.stdio ? 0 : portFrom(values.port ?? (process.env.PORT || String(defaultPort)));
  const environment = await environmentFor(values.store);
  const { config, place } = words ? await started(words, environment) : await configured(values.config);
  const { store, lists } = await placesFor(values.store, place);
  await using gateway = await gatewayOf({ config, store, environment, ...(lists && { lists }) });
  await (values.stdio ? onPipe(gateway) : onPort(gateway, port, values.json, values.operator));
  return 0;
}

const workerHelp = `Carries out tasks that \`holdfast serve\` with the same config makes on the same store; as many workers, on as many
machines, as there is work for.

Usage: holdfast worker --store URL [--config FILE] [--concurrency N]

  --concurrency N  tasks at a time (default 1000: a task that waits for a server takes next to nothing)
  --config FILE    the servers and commands that tasks are carried out by (default ${usualFile} here)
  --json           say what is said as JSON
  --store URL      where the tasks are: postgres://USER:PASSWORD@HOST/DATABASE, or sqlite:PATH on the same machine
  -h, --help       say this

SIGTERM stops it: what is not done goes on elsewhere, or at the next start.`;

export async function worker(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, workerHelp, {
    concurrency: { type: 'string' },
    config: { type: 'string' },
    json: { type: 'boolean' },
    store: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongUsage(`worker takes no "${positionals[0]}"`);
  if (values.store === undefined) throw new WrongUsage('--store URL says where the tasks are');
  const concurrency =
    values.concurrency === undefined ? undefined : countFrom(values.concurrency, '--concurrency');
  const place = storePlace(values.store);
  const { config } = await configured(values.config);
  const store = await existingStore(place);
  const environment = await environmentFor(values.store);
  await using gateway = await gatewayOf({ config, store, environment });
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  const onReady = () => console.log(values.json ? JSON.stringify({ ready: 'worker' }) : 'ready worker');
  await workUntil(stopped, gateway.work(concurrency), onReady);
  return 0;
}

/** Programs that are started do not see the key to the store. */
async function environmentFor(store: string | undefined): Promise<Record<string, string>> {
  const { inheritedEnvironment } = await import('../../client/transports/stdio.ts');
  return inheritedEnvironment(storeSecrets(store));
}

async function gatewayOf(options: Pick<GatewayOptions, 'config' | 'store' | 'environment' | 'lists'>) {
  const { Gateway } = await import('../../gateway/gateway-server.ts');
  return new Gateway({ ...options, version: version(), log: sayStoreTrouble, onTrouble: say });
}

type Gateway = Awaited<ReturnType<typeof gatewayOf>>;

async function onPort(gateway: Gateway, port: number, json = false, operator = false): Promise<void> {
  const { serveHttp } = await import('../../server/http/serve.ts');
  const token = operator ? operatorToken() : undefined;
  try {
    const server = await serveHttp(gateway.tasks, gateway.serverFor, {
      port,
      ...(token && { operator: token }),
    });
    gateway.notifier = server.handler.notify;
    await workUntilStopped(gateway, server, () => {
      const dashboard = token && `${server.dashboard}${token.fragment}`;
      if (json) console.log(JSON.stringify({ ready: server.url, ...(dashboard && { dashboard }) }));
      else console.log(dashboard ? `ready ${server.url}\ndashboard ${dashboard}` : `ready ${server.url}`);
    });
  } catch (error) {
    throw portWorded(error as NodeJS.ErrnoException, port);
  }
}

async function onPipe(gateway: Gateway): Promise<void> {
  const { serveStdio } = await import('../../server/stdio.ts');
  const server = serveStdio(gateway.tasks, gateway.serverFor, { onError: say });
  await workUntilStopped(gateway, server, () => {});
}

/** A server that cannot work must not stay. */
async function workUntilStopped(
  gateway: Gateway,
  server: { readonly stopped: Promise<void>; stop(): Promise<void> },
  onReady: () => void,
): Promise<void> {
  try {
    await workUntil(server.stopped, gateway.work(), onReady);
  } finally {
    await server.stop();
  }
}

/** It may be told to stop while upstreams are waited for. */
async function workUntil(stopped: Promise<void>, working: Promise<void>, onReady: () => void): Promise<void> {
  const isStopped = stopped.then(() => true);
  if (!(await Promise.race([isStopped, working]))) onReady();
  await stopped;
}

async function placesFor(url: string | undefined, place: string) {
  const { listCache } = await import('../../gateway/upstream/list-cache.ts');
  const { dataFolder } = await import('../../client.ts');
  const usual = join(dataFolder(), 'serve', `${place}.db`);
  const at = storePlace(url ?? `sqlite:${usual}`);
  const store = await storeAt(at);
  if (at.kind === 'memory') return { store };
  return { store, lists: listCache(`${at.kind === 'sqlite' ? at.file : usual}-lists.json`) };
}
