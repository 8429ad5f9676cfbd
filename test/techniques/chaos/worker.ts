/** The child process of the kill tests: opens the file, works at random and says what was acknowledged. */
import type { Socket } from 'node:net';
import { openSqlite } from '../../../src/sqlite.ts';
import { type CrashPoint, killAt } from '../../../src/store-testing.ts';
import { seededRandom } from '../../kit/random.ts';
import { say } from './acknowledgement.ts';
import { work } from './load.ts';
import { Observer } from './observer.ts';

export interface WorkerOptions {
  readonly file: string;
  readonly seed: number;
  /** Where to die by its own hand, and at which time of passing there. */
  readonly killAt?: { readonly place: CrashPoint; readonly time: number };
  /** Closes and ends after so many changes; otherwise it works until it is killed. */
  readonly commits?: number;
  readonly rounds?: number;
}

const options: WorkerOptions = JSON.parse(process.argv[2]!);
const random = seededRandom(options.seed);

// Nobody may outlive the test: its end closes our standard input.
(process.stdin.on('end', () => process.exit(1)).resume() as Socket).unref();

try {
  if (options.killAt) killAt(options.killAt.place, { time: options.killAt.time });
  for (let round = 1; round <= (options.rounds ?? 1); round++) await openAndWork(round);
} catch (error) {
  say({ kind: 'failed', error: (error as Error).stack ?? String(error) });
  process.exit(1);
}

async function openAndWork(round: number): Promise<void> {
  const database = await openSqlite(options.file);
  const observer = new Observer(database.store);
  say({ kind: 'ready' });
  await work(database, random, say, options.commits);
  if (options.rounds !== undefined) await database.backup(`${options.file}.copy-${round}`);
  await database.close();
  if (observer.problems.length > 0) throw new Error(`Heard out of order: ${observer.problems.join('; ')}`);
}
