/** The fixture server and its workers as processes that share one store. */
import type { HttpProcess } from '../kit/server-process.ts';
import { serveFixture } from '../serving/server-process.ts';

export type Replica = HttpProcess;

export function startReplica(
  role: 'all' | 'server' | 'worker',
  store: string,
  ...more: readonly string[]
): Promise<Replica> {
  return serveFixture('--drafts', '--store', store, '--role', role, ...more);
}
