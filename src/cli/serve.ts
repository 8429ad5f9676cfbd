/** `holdfast serve`: a gateway as a process, on a port of this machine or on standard input and output. */
import { join } from 'node:path';
import { configured, portFrom, portWorded, sayStoreTrouble, started, usualFile } from './serving.ts';
import { storeAt, storePlace, storeSecrets } from './store-url.ts';
import { defaultPort, readArguments, say, version, WrongUsage } from './usage.ts';

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
  const { inheritedEnvironment } = await import('../client/program.ts');
  const environment = inheritedEnvironment(storeSecrets(values.store));
  const { config, place } = words ? await started(words, environment) : await configured(values.config);
  const { store, lists } = await placesFor(values.store, place);

  const { Gateway } = await import('../gateway/gateway.ts');
  const gateway = new Gateway({
    config,
    version: version(),
    store,
    environment,
    ...(lists && { lists }),
    log: sayStoreTrouble,
    onTrouble: say,
  });
  await (values.stdio ? onPipe(gateway) : onPort(gateway, port, values));
  return 0;
}

type Gateway = import('../gateway/gateway.ts').Gateway;

interface PortOptions {
  readonly json?: boolean;
  readonly operator?: boolean;
}

async function onPort(gateway: Gateway, port: number, { json, operator }: PortOptions): Promise<void> {
  const { serveHttp } = await import('../server/http/serve.ts');
  const { operatorToken } = await import('./serving.ts');
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
  } finally {
    await gateway.close();
  }
}

async function onPipe(gateway: Gateway): Promise<void> {
  const { serveStdio } = await import('../server/stdio.ts');
  const server = serveStdio(gateway.tasks, gateway.serverFor, {
    onError: say,
  });
  try {
    await workUntilStopped(gateway, server);
  } finally {
    await gateway.close();
  }
}

/** It may be told to stop while upstreams are waited for; and a server that cannot work must not stay. */
async function workUntilStopped(
  gateway: Gateway,
  server: { readonly stopped: Promise<void>; stop(): Promise<void> },
  onReady: () => void = () => {},
): Promise<void> {
  const isWorking = gateway.work().then(() => true);
  try {
    if (await Promise.race([isWorking, server.stopped.then(() => false)])) onReady();
    await server.stopped;
  } finally {
    await server.stop();
  }
}

async function placesFor(url: string | undefined, place: string) {
  const { keptLists } = await import('../gateway/kept-lists.ts');
  const { dataFolder } = await import('../client.ts');
  const usual = join(dataFolder(), 'serve', `${place}.db`);
  const at = storePlace(url ?? `sqlite:${usual}`);
  const store = await storeAt(at);
  if (at.kind === 'memory') return { store };
  return { store, lists: keptLists(`${at.kind === 'sqlite' ? at.file : usual}-lists.json`) };
}
