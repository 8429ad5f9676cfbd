/**
 * The thread of the watchdog. The event loop of the process increments a counter. While the counter does not change,
 * the loop is blocked. Time in which this thread did not run either (the process was stopped, the machine slept) is
 * ignored.
 */
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { parentPort, workerData } from 'node:worker_threads';

export interface Limits {
  /** How long the loop must be blocked until the first report. The time until each next report doubles. */
  readonly reportMs: number;
  /** How long the loop may be blocked before the process is killed. Infinity: it is never killed. */
  readonly exitMs: number;
}

export interface ThreadData extends Limits {
  /** The counter, in its only element. */
  readonly beats: Int32Array<SharedArrayBuffer>;
  /** The `Symbol.for` key of the global function that returns the current step as JSON. */
  readonly currentStepKey: string;
  /** True if the watched thread is the main thread, the only one to which the debugger can connect. */
  readonly canInspect: boolean;
}

/** A report. Sent to the blocked thread, which receives it once its loop is free again. */
export interface Blocked {
  readonly message: string;
  /** How long the loop was blocked, in milliseconds. */
  readonly ms: number;
  readonly task?: string;
  readonly tool?: string;
  readonly step?: string;
}

type CurrentStep = Pick<Blocked, 'task' | 'tool' | 'step'>;

/** The wait for the debugger is limited, because it never answers if native code blocks the loop. */
const debuggerTimeoutMs = 2_000;

if (parentPort) watch(workerData as ThreadData);

function watch({ beats, currentStepKey, canInspect, ...first }: ThreadData): void {
  let limits: Limits = first;
  const port = parentPort!;
  port.on('message', (update: Limits) => {
    limits = update;
  });
  let lastCount = Atomics.load(beats, 0);
  let checkedAt = performance.now();
  // How long the counter has not changed.
  let silentMs = 0;
  let nextReportMs = limits.reportMs;
  let blocked: Blocked | undefined;
  let isInspecting = false;
  const tick = () => {
    const now = performance.now();
    const everyMs = tickMs(limits);
    // A longer gap means that this thread did not run either.
    const elapsed = Math.min(now - checkedAt, 2 * everyMs);
    checkedAt = now;
    const count = Atomics.load(beats, 0);
    if (count !== lastCount) {
      lastCount = count;
      if (blocked) port.postMessage({ ...blocked, ms: Math.round(silentMs) });
      blocked = undefined;
      silentMs = 0;
      nextReportMs = limits.reportMs;
    } else silentMs += elapsed;
    // True if the process must be killed now.
    const isOver = silentMs >= limits.exitMs;
    if (isOver || (!isInspecting && silentMs >= nextReportMs)) {
      isInspecting = true;
      nextReportMs = silentMs * 2;
      const ms = Math.round(silentMs);
      const report = (found: CurrentStep) => {
        isInspecting = false;
        // If the debugger found nothing this time, use its last answer: nothing else has run since.
        const step = found.tool === undefined && blocked ? blocked : found;
        blocked = { ...step, ms, message: messageFor(step, ms) };
        writeSync(2, `holdfast: ${blocked.message}\n`);
        if (silentMs < limits.exitMs) return;
        writeSync(
          2,
          `holdfast: process ${process.pid} kills itself, so that other processes resume its tasks.\n`,
        );
        process.kill(process.pid, 'SIGKILL');
      };
      // Do not inspect before the exit: that could take seconds, and other processes wait for the tasks.
      if (canInspect && !isOver) void currentStep(currentStepKey).then(report);
      else report({});
    }
    setTimeout(tick, everyMs);
  };
  setTimeout(tick, tickMs(limits));
}

/** The time between two checks of the counter: some checks per `reportMs`. */
function tickMs({ reportMs }: Limits): number {
  return Math.max(20, Math.min(500, reportMs / 4));
}

function messageFor({ task, tool, step }: CurrentStep, ms: number): string {
  const what =
    tool === undefined
      ? 'by unknown code'
      : step === undefined
        ? `by the handler of ${tool} (task ${task}), outside its steps`
        : `by the step "${step}" of ${tool} (task ${task})`;
  return `the event loop has been blocked for ${(ms / 1_000).toFixed(1)} s ${what}. Move such work to its own thread or process.`;
}

/** Pauses the blocked thread with its debugger for a moment, to read which step is running. */
async function currentStep(key: string): Promise<CurrentStep> {
  const session = new Session();
  const { promise, resolve } = Promise.withResolvers<CurrentStep>();
  const timer = setTimeout(() => resolve({}), debuggerTimeoutMs);
  try {
    session.connectToMainThread();
    session.on('Debugger.paused', () => {
      const expression = `globalThis[Symbol.for(${JSON.stringify(key)})]()`;
      // Not evaluated in the scope of the paused function: inside Node itself, names such as Symbol may be undefined.
      session.post('Runtime.evaluate', { expression }, (error, found) => {
        const value: unknown = error ? undefined : found.result.value;
        const step = typeof value === 'string' ? (JSON.parse(value) as CurrentStep) : {};
        session.post('Debugger.resume', () => resolve(step));
      });
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
    return await promise;
  } catch {
    return {};
  } finally {
    clearTimeout(timer);
    session.disconnect();
  }
}
