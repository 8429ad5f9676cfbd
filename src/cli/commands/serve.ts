/**
 * `holdfast serve`: a gateway as a process, on a local port or on standard input and output. `holdfast worker` runs the
 * tasks of gateways on the same store, and accepts no clients.
 */
import { join } from 'node:path';
import type { GatewayOptions } from '../../gateway/gateway-server.ts';
import { existingStore, parseStoreUrl, storeAt, storeSecrets } from '../store-url.ts';
import { countFrom, defaultPort, printError, readArguments, version, WrongUsage } from '../usage.ts';
import {
  configured,
  defaultConfigFile,
  listenError,
  operatorToken,
  portFrom,
  printStoreProblem,
  started,
} from './serving.ts';

const help = `Adds durable tasks to MCP servers and commands that have none: calls survive lost connections and restarts, and
clients of every MCP revision can make them.

Usage: holdfast serve [--config FILE] [--port N | --stdio] [--store URL] [--operator]
       holdfast serve [--port N | --stdio] [--store URL] [--operator] -- COMMAND [ARG...]

FILE lists MCP servers under "mcpServers", in the format of MCP hosts, and programs under "commands". Use -- to give the
command that starts a single server instead.

  --config FILE  config file (default ${defaultConfigFile} in this folder)
  --json         print JSON
  --operator     also serve the dashboard at /operator/, on this machine only. It shows all tasks with their history,
                 and can cancel, retry, answer and purge them. Its token gives full access: set it with
                 HOLDFAST_OPERATOR_TOKEN, or a new one is created at each start and printed with the address
  --port N       port on 127.0.0.1, 0 for any (default: PORT in the environment, or ${defaultPort})
  --stdio        serve one client on standard input and output, for hosts that start servers themselves
  --store URL    store of the tasks: sqlite:PATH, postgres://... or memory: (default: a file for this config in your
                 data folder)
  -h, --help     show this help

SIGTERM stops the gateway. Unfinished tasks resume at the next start.`;

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
  if (positionals.length > 0) throw new WrongUsage(`unexpected argument "${positionals[0]}" for serve`);
  if (values.stdio && values.port !== undefined)
    throw new WrongUsage('--port and --stdio cannot be used together');
  if (values.stdio && values.operator)
    throw new WrongUsage('--operator and --stdio cannot be used together: the dashboard needs a port');
  const words = end < 0 ? undefined : args.slice(end + 1);
  if (words && values.config !== undefined)
    throw new WrongUsage('--config and a command after -- cannot be used together');
  const port = values.stdio ? 0 : portFrom(values.port ?? (process.env.PORT || String(defaultPort)));
  const environment = await environmentFor(values.store);
  const { config, storeName } = words ? await started(words, environment) : await configured(values.config);
  const { store, lists } = await storesFor(values.store, storeName);
  await using gateway = await gatewayOf({ config, store, environment, ...(lists && { lists }) });
  await (values.stdio ? onPipe(gateway) : onPort(gateway, port, values.json, values.operator));
  return 0;
}

const workerHelp = `Runs tasks that \`holdfast serve\` created with the same config on the same store. Start as many workers, on as many
machines, as you need.

Usage: holdfast worker --store URL [--config FILE] [--concurrency N]

  --concurrency N  tasks at a time (default 1000: a task that waits for a server needs almost no resources)
  --config FILE    config file with the servers and commands (default ${defaultConfigFile} in this folder)
  --json           print JSON
  --store URL      store of the tasks: postgres://USER:PASSWORD@HOST/DATABASE, or sqlite:PATH on the same machine
  -h, --help       show this help

SIGTERM stops the worker. Its unfinished tasks resume on another worker or at the next start.`;

export async function worker(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, workerHelp, {
    concurrency: { type: 'string' },
    config: { type: 'string' },
    json: { type: 'boolean' },
    store: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongUsage(`unexpected argument "${positionals[0]}" for worker`);
  if (values.store === undefined) throw new WrongUsage('worker needs --store URL');
  const concurrency =
    values.concurrency === undefined ? undefined : countFrom(values.concurrency, '--concurrency');
  const location = parseStoreUrl(values.store);
  const { config } = await configured(values.config);
  const store = await existingStore(location);
  const environment = await environmentFor(values.store);
  await using gateway = await gatewayOf({ config, store, environment });
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  const onReady = () => console.log(values.json ? JSON.stringify({ ready: 'worker' }) : 'ready worker');
  await workUntil(stopped, gateway.work(concurrency), onReady);
  return 0;
}

/** The environment for programs that we start, without the credentials of the store. */
async function environmentFor(store: string | undefined): Promise<Record<string, string>> {
  const { inheritedEnvironment } = await import('../../client/transports/stdio.ts');
  return inheritedEnvironment(storeSecrets(store));
}

async function gatewayOf(options: Pick<GatewayOptions, 'config' | 'store' | 'environment' | 'lists'>) {
  const { Gateway } = await import('../../gateway/gateway-server.ts');
  return new Gateway({ ...options, version: version(), log: printStoreProblem, onTrouble: printError });
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
    throw listenError(error as NodeJS.ErrnoException, port);
  }
}

async function onPipe(gateway: Gateway): Promise<void> {
  const { serveStdio } = await import('../../server/stdio.ts');
  const server = serveStdio(gateway.tasks, gateway.serverFor, { onError: printError });
  await workUntilStopped(gateway, server, () => {});
}

/** Works until the server is stopped. If the worker fails, stops the server. */
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

/**
 * Waits until `stopped` resolves. `working` resolves when the worker has started, which can take a while because it
 * connects to the upstreams. Then `onReady` is called, unless the server was stopped before.
 */
async function workUntil(stopped: Promise<void>, working: Promise<void>, onReady: () => void): Promise<void> {
  const isStopped = stopped.then(() => true);
  if (!(await Promise.race([isStopped, working]))) onReady();
  await stopped;
}

/**
 * The store of the tasks, and a cache file for the lists of upstreams (none with `memory:`). The cache is next to a
 * SQLite store; for Postgres it is where the default store would be.
 */
async function storesFor(url: string | undefined, storeName: string) {
  const { listCache } = await import('../../gateway/upstream/list-cache.ts');
  const { dataFolder } = await import('../../client.ts');
  const defaultFile = join(dataFolder(), 'serve', `${storeName}.db`);
  const location = parseStoreUrl(url ?? `sqlite:${defaultFile}`);
  const store = await storeAt(location);
  if (location.kind === 'memory') return { store };
  return {
    store,
    lists: listCache(`${location.kind === 'sqlite' ? location.file : defaultFile}-lists.json`),
  };
}
