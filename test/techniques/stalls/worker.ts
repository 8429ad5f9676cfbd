/** A worker process that tests stall, move the clock of, kill and close. Preloads `movable-clock.ts`. */
import { createInterface } from 'node:readline';
import { openStore } from '../../../scripts/chaos/cluster/store.ts';
import { createTasks, type LogEntry, type WorkOptions } from '../../../src/index.ts';
import { say as print } from '../../kit/child.ts';
import { blockLoop, moveClock } from '../chaos/movable-clock.ts';
import { moment } from './step-lines.ts';
import { stallTools, type ToolSettings } from './tools.ts';

export interface WorkerSettings extends ToolSettings {
  readonly store: string;
  readonly work: WorkOptions;
  /** By how much its clock is wrong from the start. */
  readonly clockMs?: number;
}

export type Order =
  | { readonly order: 'block'; readonly ms: number }
  | { readonly order: 'clock'; readonly ms: number }
  | { readonly order: 'close' };

export type Said =
  | { readonly kind: 'ready' }
  /** Said ten times a second, unless its event loop stands still. */
  | { readonly kind: 'alive'; readonly at: number }
  | { readonly kind: 'log'; readonly entry: LogEntry }
  | { readonly kind: 'closed'; readonly ms: number };

const beatMs = 100;

const say: (line: Said) => void = print;

const { store, work, clockMs = 0, ...settings }: WorkerSettings = JSON.parse(process.argv[2]!);
moveClock(clockMs);
const tasks = createTasks({
  store: () => openStore(store),
  tools: Object.values(stallTools(settings)),
  log: (entry) => {
    if (entry.level !== 'debug') say({ kind: 'log', entry });
  },
});

async function obey(order: Order): Promise<void> {
  if (order.order === 'block') return blockLoop(order.ms);
  if (order.order === 'clock') return moveClock(order.ms);
  const started = performance.now();
  await tasks.close();
  say({ kind: 'closed', ms: performance.now() - started });
  process.exit(0);
}

const input = createInterface({ input: process.stdin });
input.on('line', (text) => void obey(JSON.parse(text)));
// No worker outlives its test, which closes our standard input when it ends.
input.on('close', () => process.exit(1));

await tasks.work(work);
say({ kind: 'ready' });
setInterval(() => say({ kind: 'alive', at: moment() }), beatMs);
