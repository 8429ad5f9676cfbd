/** The fixture server and its workers as processes that share one store. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fixtureArguments } from '../dialects/interop/fixture.ts';

export interface Replica extends AsyncDisposable {
  readonly pid: number;
  /** Where it serves; empty if it only works. */
  readonly url: string;
  kill(signal: NodeJS.Signals): void;
}

export async function startReplica(
  role: 'all' | 'server' | 'worker',
  store: string,
  ...more: readonly string[]
): Promise<Replica> {
  const words = fixtureArguments('--port', '0', '--store', store, '--role', role, ...more);
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    once(child, 'close').then(() => ['nothing']),
  ])) as [string];
  if (!line.startsWith('ready ')) throw new Error(`The ${role} is not ready. It said: ${line}`);
  return {
    pid: child.pid!,
    url: role === 'worker' ? '' : line.slice('ready '.length),
    kill: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: () => end(child),
  };
}

/** Also of one that was stopped. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  await closed;
}
