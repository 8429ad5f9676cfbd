/**
 * The thread of the watchdog. The event loop of the process counts; where the count stands still, the loop is blocked.
 * Time in which this thread itself did not run (the process was stopped, the machine slept) does not count.
 */
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { parentPort, workerData } from 'node:worker_threads';

export interface Limits {
  readonly reportMs: number;
  /** Infinity if the process is not to be ended. */
  readonly exitMs: number;
}

export interface ThreadData extends Limits {
  readonly beats: Int32Array<SharedArrayBuffer>;
  readonly whatRunsKey: string;
  /** The debugger of the thread that is watched can be reached only if that is the main thread. */
  readonly canAsk: boolean;
}

export interface Blocked {
  readonly message: string;
  readonly ms: number;
  readonly task?: string;
  readonly tool?: string;
  readonly step?: string;
}

type WhatRuns = Pick<Blocked, 'task' | 'tool' | 'step'>;

/** What blocks may be no JavaScript at all, and then never answers. */
const answerMs = 2_000;

if (parentPort) watch(workerData as ThreadData);

function watch({ beats, whatRunsKey, canAsk, ...first }: ThreadData): void {
  let limits: Limits = first;
  const port = parentPort!;
  port.on('message', (now: Limits) => {
    limits = now;
  });
  let count = Atomics.load(beats, 0);
  let lookedAt = performance.now();
  let silentMs = 0;
  let nextReportMs = limits.reportMs;
  let blocked: Blocked | undefined;
  let isAsking = false;
  const tick = () => {
    const now = performance.now();
    const everyMs = tickMs(limits);
    const elapsed = Math.min(now - lookedAt, 2 * everyMs);
    lookedAt = now;
    const seen = Atomics.load(beats, 0);
    if (seen !== count) {
      count = seen;
      if (blocked) port.postMessage({ ...blocked, ms: Math.round(silentMs) });
      blocked = undefined;
      silentMs = 0;
      nextReportMs = limits.reportMs;
    } else silentMs += elapsed;
    const isOver = silentMs >= limits.exitMs;
    if (isOver || (!isAsking && silentMs >= nextReportMs)) {
      isAsking = true;
      nextReportMs = silentMs * 2;
      const ms = Math.round(silentMs);
      const report = (what: WhatRuns) => {
        isAsking = false;
        // What was found once blocks still: nothing else has run since.
        const known = what.tool === undefined && blocked ? blocked : what;
        blocked = { ...known, ms, message: sentence(known, ms) };
        writeSync(2, `holdfast: ${blocked.message}\n`);
        if (silentMs < limits.exitMs) return;
        writeSync(2, `holdfast: process ${process.pid} ends itself, so that others continue its tasks.\n`);
        process.kill(process.pid, 'SIGKILL');
      };
      // At the end nobody is asked: others wait for the tasks, and what blocks is known or never will be.
      if (canAsk && !isOver) void whatRuns(whatRunsKey).then(report);
      else report({});
    }
    setTimeout(tick, everyMs);
  };
  setTimeout(tick, tickMs(limits));
}

function tickMs({ reportMs }: Limits): number {
  return Math.max(20, Math.min(500, reportMs / 4));
}

function sentence({ task, tool, step }: WhatRuns, ms: number): string {
  const what =
    tool === undefined
      ? 'by code that is not known'
      : step === undefined
        ? `by the handler of ${tool} (task ${task}), outside its steps`
        : `by the step "${step}" of ${tool} (task ${task})`;
  return `the event loop has been blocked for ${(ms / 1_000).toFixed(1)} s ${what}. Give such work to a thread or a process of its own.`;
}

/** Interrupts the blocked thread with its debugger, for the moment that it takes to ask which step is running. */
async function whatRuns(key: string): Promise<WhatRuns> {
  const session = new Session();
  const { promise, resolve } = Promise.withResolvers<WhatRuns>();
  const timer = setTimeout(() => resolve({}), answerMs);
  try {
    session.connectToMainThread();
    session.on('Debugger.paused', () => {
      const expression = `globalThis[Symbol.for(${JSON.stringify(key)})]()`;
      // Not in the scope of the paused function: inside Node itself, names such as Symbol may not be defined there.
      session.post('Runtime.evaluate', { expression }, (error, found) => {
        const value: unknown = error ? undefined : found.result.value;
        const what = typeof value === 'string' ? (JSON.parse(value) as WhatRuns) : {};
        // Without being resumed it would never run again.
        session.post('Debugger.resume', () => resolve(what));
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
