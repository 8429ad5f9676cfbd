/** Finds what a handler starts outside its steps (timers, requests, files), while a test runs. Costs time: tests only. */
import { createHook } from 'node:async_hooks';
import { isInHandler } from '../engine/pass.ts';

/** Promises, ticks and microtasks are pure computation; everything else goes through the event loop. */
const harmless = new Set(['PROMISE', 'TickObject', 'Microtask', 'AsyncResource', 'RANDOMBYTESREQUEST']);
const engine = new URL('../engine/', import.meta.url).pathname;

export interface StrayAwaits {
  /** What was found so far, each with the place in the handler. */
  readonly found: ReadonlySet<string>;
  stop(): void;
}

export function watchForStrayAwaits(): StrayAwaits {
  const found = new Set<string>();
  const hook = createHook({
    init(_id, type) {
      if (harmless.has(type) || !isInHandler()) return;
      const place = callerOf(new Error().stack ?? '');
      if (place) found.add(`${type} at ${place}`);
    },
  }).enable();
  return { found, stop: () => hook.disable() };
}

/** The first frame that is neither Node's nor this file's; none if it is the engine's own. */
function callerOf(stack: string): string | undefined {
  const frames = stack
    .split('\n')
    .slice(1)
    .map((line) => line.trim().replace(/^at /, ''));
  const frame = frames.find((one) => !one.includes('node:') && !one.includes('stray-awaits'));
  return frame === undefined || frame.includes(engine) ? undefined : frame;
}
