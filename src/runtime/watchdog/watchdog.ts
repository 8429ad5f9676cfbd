/**
 * Watches the event loop from a thread of its own. A handler that never yields blocks every other task of its process,
 * and nothing in that process can say so: the thread reports it while it lasts, and names the step that blocks. There
 * is one thread for all workers of a process.
 */
import { inspect } from 'node:util';
import { isMainThread, Worker as Thread } from 'node:worker_threads';
import type { Blocked, ThreadData } from './thread.ts';

/**
 * `report` writes to stderr while the event loop is blocked. `exit` also ends the process once it has been blocked for
 * two leases, so that others continue its tasks: for programs that are started again.
 */
export type WatchdogMode = 'report' | 'exit' | 'off';

export interface Watch {
  readonly leaseMs: number;
  readonly mode: WatchdogMode;
  /** Which task and step this code belongs to. */
  readonly whatRuns: () => object | undefined;
  /** Called once the event loop is free again. */
  readonly blocked: (message: string, detail: Record<string, unknown>) => void;
}

/** Under this name the thread asks, in the middle of whatever blocks, which step that is. */
const whatRunsKey = 'holdfast.whatRuns';
const exitAfterLeases = 2;

const watches = new Set<Watch>();
let running: { readonly thread: Thread; readonly beat: NodeJS.Timeout } | undefined;

/** Watches until the returned function is called. */
export function watchLoop(watch: Watch): () => void {
  if (watch.mode === 'off') return () => {};
  watches.add(watch);
  try {
    start();
  } catch (error) {
    // Where no thread may be started, work goes on without a watchdog.
    process.stderr.write(`holdfast: the watchdog cannot start: ${inspect(error)}\n`);
  }
  return () => {
    watches.delete(watch);
    if (watches.size === 0) stop();
    else start();
  };
}

/** The strictest of all watches counts: the thread is told anew when one comes or goes. */
function start(): void {
  const reportMs = Math.max(1_000, Math.min(...[...watches].map(({ leaseMs }) => leaseMs / 3)));
  const exits = [...watches].filter(({ mode }) => mode === 'exit');
  const exitMs = Math.min(...exits.map(({ leaseMs }) => leaseMs * exitAfterLeases));
  const limits = { reportMs, exitMs };
  if (running) return running.thread.postMessage(limits);
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const { whatRuns } = [...watches][0]!;
  (globalThis as Record<symbol, unknown>)[Symbol.for(whatRunsKey)] = () => JSON.stringify(whatRuns() ?? {});
  const file = new URL(`./thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
  const thread = new Thread(file, {
    workerData: { beats, whatRunsKey, canAsk: isMainThread, ...limits } satisfies ThreadData,
    // Nothing of the program's own start-up belongs into this thread.
    execArgv: [],
    stdin: false,
  });
  thread.unref();
  thread.on('error', (error) => process.stderr.write(`holdfast: the watchdog failed: ${inspect(error)}\n`));
  thread.on('message', ({ message, ...detail }: Blocked) => {
    for (const { blocked } of watches) blocked(message, detail);
  });
  const beat = setInterval(() => Atomics.add(beats, 0, 1), Math.max(20, Math.min(500, reportMs / 5)));
  beat.unref();
  running = { thread, beat };
}

function stop(): void {
  if (!running) return;
  clearInterval(running.beat);
  void running.thread.terminate();
  running = undefined;
}
