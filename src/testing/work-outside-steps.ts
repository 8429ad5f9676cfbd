/** Detects timers, requests and file access that a handler starts outside its steps. Slow: for tests only. */
import { createHook } from 'node:async_hooks';
import { isInHandler } from '../engine/replay/pass-context.ts';

/** Types of async resources that only compute. All others involve timers, requests, files or the like. */
const harmless = new Set(['PROMISE', 'TickObject', 'Microtask', 'AsyncResource', 'RANDOMBYTESREQUEST']);
const engine = new URL('../engine/', import.meta.url).pathname;

/** Starts to watch the whole process. Call `stop` at the end. */
export function watchForWorkOutsideSteps() {
  const found = new Map<string, string>();
  const hook = createHook({
    init(_id, type) {
      if (harmless.has(type) || !isInHandler()) return;
      const caller = callerOf(wholeStack());
      // One request creates several resources at the same line: the first one is enough.
      if (caller && !found.has(caller)) found.set(caller, `${type} at ${caller}`);
    },
  }).enable();
  return {
    /** Descriptions of the work found so far, each with the line that starts it. */
    found: () => [...found.values()],
    stop: () => hook.disable(),
  };
}

/** Node's default of ten frames is too short: its `fetch` alone has about thirty. */
function wholeStack(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  try {
    return new Error().stack ?? '';
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The first frame outside Node, the runtime and this file: the code that starts the work. Undefined for the engine. */
function callerOf(stack: string): string | undefined {
  const frames = stack
    .split('\n')
    .slice(1)
    .map((line) => line.trim().replace(/^at /, ''));
  const frame = frames.find(
    (one) =>
      !one.includes('node:') &&
      !one.endsWith('(<anonymous>)') &&
      !/work-outside-steps|\/runtime\/runtime\./.test(one),
  );
  return frame === undefined || frame.includes(engine) ? undefined : frame;
}
