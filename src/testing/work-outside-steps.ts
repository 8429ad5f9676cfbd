/** Finds what a handler starts outside its steps (timers, requests, files), while a test runs. Costs time: tests only. */
import { createHook } from 'node:async_hooks';
import { isInHandler } from '../engine/replay/pass-context.ts';

/** Promises, ticks and microtasks are pure computation; everything else goes through the event loop. */
const harmless = new Set(['PROMISE', 'TickObject', 'Microtask', 'AsyncResource', 'RANDOMBYTESREQUEST']);
const engine = new URL('../engine/', import.meta.url).pathname;

export function watchForWorkOutsideSteps() {
  const found = new Map<string, string>();
  const hook = createHook({
    init(_id, type) {
      if (harmless.has(type) || !isInHandler()) return;
      const place = callerOf(wholeStack());
      // One request makes several things at its place: the first of them says enough.
      if (place && !found.has(place)) found.set(place, `${type} at ${place}`);
    },
  }).enable();
  return {
    /** What was found so far, each with the place in the handler. */
    found: () => [...found.values()],
    stop: () => hook.disable(),
  };
}

/** Between a handler and its socket stand some thirty frames of Node's own `fetch`, and ten are usual. */
function wholeStack(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  try {
    return new Error().stack ?? '';
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The first frame that is neither Node's, nor the language's, nor this file's; none if it is the engine's own. */
function callerOf(stack: string): string | undefined {
  const frames = stack
    .split('\n')
    .slice(1)
    .map((line) => line.trim().replace(/^at /, ''));
  const frame = frames.find(
    (one) => !one.includes('node:') && !one.endsWith('(<anonymous>)') && !one.includes('work-outside-steps'),
  );
  return frame === undefined || frame.includes(engine) ? undefined : frame;
}
