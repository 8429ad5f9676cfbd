/** The fixture server and its workers as processes that share one store. */
import { fixtureArguments } from '../dialects/interop/fixture.ts';
import { Program } from '../kit/process.ts';

export class Replica extends Program implements AsyncDisposable {
  /** Where it serves; empty if it only works. */
  url = '';

  /** Also of one that was stopped. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.go();
    await this.kill('SIGTERM');
  }
}

export async function startReplica(
  role: 'all' | 'server' | 'worker',
  store: string,
  ...more: readonly string[]
): Promise<Replica> {
  const words = fixtureArguments('--port', '0', '--store', store, '--role', role, ...more);
  const replica = new Replica([process.execPath, ...words]);
  const url = await replica.readyUrl();
  if (role !== 'worker') replica.url = url;
  return replica;
}
