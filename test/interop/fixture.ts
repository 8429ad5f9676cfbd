/** The fixture server as a process of its own, with every dialect on, on a port of its choice. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const main = join(import.meta.dirname, '../fixture/main.ts');

/** How to start the fixture server, for whoever spawns processes itself. */
export function fixtureArguments(...options: string[]): string[] {
  return [
    '--conditions=holdfast-source',
    '--disable-warning=ExperimentalWarning',
    main,
    '--drafts',
    ...options,
  ];
}

export interface Fixture extends AsyncDisposable {
  readonly url: URL;
  /** Ends the process without a chance to tidy up. */
  kill(): Promise<void>;
}

export interface FixtureOptions {
  readonly store?: string;
  /** Of a server that takes the place of another; otherwise any that is free. */
  readonly port?: string;
  /** As the command line takes them: TOKEN=OWNER,... */
  readonly tokens?: string;
}

export async function startFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const { store = 'memory:', port = '0', tokens } = options;
  const words = ['--port', port, '--store', store, ...(tokens === undefined ? [] : ['--tokens', tokens])];
  const child = spawn(process.execPath, fixtureArguments(...words), { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'close').then(() => ['nothing']),
  ])) as [string];
  const address = /^ready (.+)$/.exec(line)?.[1];
  if (address === undefined) throw new Error(`The fixture server is not ready. It said: ${line}`);
  return {
    url: new URL(address),
    kill: () => end(child, 'SIGKILL'),
    [Symbol.asyncDispose]: () => end(child, 'SIGTERM'),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill(signal);
  await closed;
}
