/** `holdfast worker`: carries out the tasks of gateways on the same store, and serves nobody itself. */
import { configured, sayStoreTrouble, usualFile } from './serving.ts';
import { existingStore, storePlace, storeSecrets } from './store-url.ts';
import { readArguments, say, version, WrongUsage } from './usage.ts';

const help = `Carries out tasks that \`holdfast serve\` with the same config makes on the same store; as many workers, on as many
machines, as there is work for.

Usage: holdfast worker --store URL [--config FILE] [--concurrency N]

  --concurrency N  tasks at a time (default 1000: a task that waits for a server takes next to nothing)
  --config FILE    the servers and commands that tasks are carried out by (default ${usualFile} here)
  --json           say what is said as JSON
  --store URL      where the tasks are: postgres://USER:PASSWORD@HOST/DATABASE, or sqlite:PATH on the same machine
  -h, --help       say this

SIGTERM stops it: what is not done goes on elsewhere, or at the next start.`;

export async function worker(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, help, {
    concurrency: { type: 'string' },
    config: { type: 'string' },
    json: { type: 'boolean' },
    store: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongUsage(`worker takes no "${positionals[0]}"`);
  if (values.store === undefined) throw new WrongUsage('--store URL says where the tasks are');
  const concurrency = values.concurrency === undefined ? undefined : countFrom(values.concurrency);
  const place = storePlace(values.store);
  const { config } = await configured(values.config);
  const store = await existingStore(place);

  const { inheritedEnvironment } = await import('../client/program.ts');
  const { Gateway } = await import('../gateway/gateway.ts');
  await using gateway = new Gateway({
    config,
    version: version(),
    store,
    environment: inheritedEnvironment(storeSecrets(values.store)),
    log: sayStoreTrouble,
    onTrouble: say,
  });
  const stopped = new Promise<false>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(false));
  });
  // It may be told to stop while upstreams are waited for.
  if (await Promise.race([gateway.work(concurrency).then(() => true), stopped]))
    console.log(values.json ? JSON.stringify({ ready: 'worker' }) : 'ready worker');
  await stopped;
  return 0;
}

function countFrom(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1)
    throw new WrongUsage(`--concurrency wants a whole number of at least 1, not "${text}"`);
  return count;
}
