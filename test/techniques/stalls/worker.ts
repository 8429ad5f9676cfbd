/** A worker process that tests stall, move the clock of, kill and close. Preloads `movable-clock.ts`. */
import { openStore } from '../../../scripts/chaos/cluster/store.ts';
import { createTasks, type LogEntry, type WorkOptions } from '../../../src/index.ts';
import { obey, say as print } from '../../kit/child.ts';
import { blockLoop, moveClock } from '../chaos/movable-clock.ts';
import { stallTools, type ToolSettings } from './tools.ts';

export interface WorkerSettings extends ToolSettings {
  readonly store: string;
  readonly work: WorkOptions;
  readonly clockMs?: number;
}

export type Said =
  | { readonly kind: 'ready' }
  /** Said ten times a second, unless its event loop stands still. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'log'; readonly entry: LogEntry };

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

const commands = {
  async block(ms: number): Promise<void> {
    blockLoop(ms);
  },

  async moveClock(ms: number): Promise<void> {
    moveClock(ms);
  },

  async close(): Promise<number> {
    const started = performance.now();
    await tasks.close();
    return performance.now() - started;
  },
};

export type Commands = typeof commands;

obey(commands);
await tasks.work(work);
say({ kind: 'ready' });
setInterval(() => say({ kind: 'alive' }), beatMs);
