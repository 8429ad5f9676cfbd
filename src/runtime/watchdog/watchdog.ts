/**
 * Watches the event loop from another thread. A handler that never yields blocks every other task of its process, and
 * nothing on its own thread can report that. The watchdog thread reports it while it lasts and names the blocking step.
 * All workers of a process share one thread.
 */
import { inspect } from 'node:util';
import { isMainThread, Worker as Thread } from 'node:worker_threads';
import type { Blocked, ThreadData } from './thread.ts';

/**
 * `report` writes to stderr while the event loop is blocked. `exit` also kills the process once it has been blocked for
 * two leases, so that other processes resume its tasks. Use `exit` only if something restarts the process. `off` starts
 * no watchdog for this worker.
 */
export type WatchdogMode = 'report' | 'exit' | 'off';

export interface Watch {
  /** The lease of the worker's claims. Reports start after a third of it, but not before one second. */
  readonly leaseMs: number;
  readonly mode: WatchdogMode;
  /** Returns the task, tool and step that run now in this process; undefined if no handler runs. */
  readonly currentStep: () => object | undefined;
  /** Called with the last report once the event loop is free again. */
  readonly blocked: (message: string, detail: Record<string, unknown>) => void;
}

/** The key of the global function that the thread calls through the debugger to read the current step. */
const currentStepKey = 'holdfast.currentStep';
/** See `WatchdogMode`. */
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
    // If a thread cannot be started, the worker runs without a watchdog.
    process.stderr.write(`holdfast: could not start the watchdog: ${inspect(error)}\n`);
  }
  return () => {
    watches.delete(watch);
    if (watches.size === 0) stop();
    else start();
  };
}

/** Starts the thread, or updates its limits. The shortest limits of all watches apply. */
function start(): void {
  const reportMs = Math.max(1_000, Math.min(...[...watches].map(({ leaseMs }) => leaseMs / 3)));
  const exits = [...watches].filter(({ mode }) => mode === 'exit');
  // Infinity if no watch has the mode `exit`.
  const exitMs = Math.min(...exits.map(({ leaseMs }) => leaseMs * exitAfterLeases));
  const limits = { reportMs, exitMs };
  if (running) return running.thread.postMessage(limits);
  const beats = new Int32Array(new SharedArrayBuffer(4));
  // The function of any watch will do: it covers all workers of the process.
  const { currentStep } = [...watches][0]!;
  (globalThis as Record<symbol, unknown>)[Symbol.for(currentStepKey)] = () =>
    JSON.stringify(currentStep() ?? {});
  const file = new URL(`./thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
  const thread = new Thread(file, {
    workerData: { beats, currentStepKey, canInspect: isMainThread, ...limits } satisfies ThreadData,
    // The flags of the program, such as `--import`, must not apply to this thread.
    execArgv: [],
    stdin: false,
  });
  thread.unref();
  thread.on('error', (error) => process.stderr.write(`holdfast: the watchdog failed: ${inspect(error)}\n`));
  thread.on('message', ({ message, ...detail }: Blocked) => {
    for (const { blocked } of watches) blocked(message, detail);
  });
  // At least as often as the thread checks the counter.
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
