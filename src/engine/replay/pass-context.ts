/** Which pass and step the running code belongs to, taken from the asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pass } from './pass.ts';

/** The pass whose handler, or whose step, is running. */
export const running = new AsyncLocalStorage<{ readonly pass: Pass; readonly step?: string }>();

/** Which task and step is running. The watchdog reads it while the event loop is blocked. */
export function runningStep() {
  const context = running.getStore();
  if (!context) return undefined;
  const { task, tool } = context.pass.name;
  return { task, tool, ...(context.step !== undefined && { step: context.step }) };
}

/** True in the code of a handler, but not in its steps. */
export function isInHandler(): boolean {
  const context = running.getStore();
  return context !== undefined && context.step === undefined;
}

/** Runs code outside the context of the handler that caused it. */
export const outsideHandlers = <T>(act: () => T): T => running.exit(act);

// --- Unhandled rejections in handlers -----------------------------------------------------------------------

/** Ends a pass of this worker with the error. False if the pass belongs to another worker. */
type FailPass = (pass: Pass, error: unknown) => boolean;

const workers = new Set<FailPass>();

/**
 * An unhandled rejection in a handler fails its task and does not end the process. Rejections of the host program are
 * not touched: if nothing else listens for them, they end the process as usual.
 */
export function catchUnhandled(failPass: FailPass): () => void {
  if (workers.size === 0) process.on('unhandledRejection', onUnhandled);
  workers.add(failPass);
  return () => {
    workers.delete(failPass);
    if (workers.size === 0) process.off('unhandledRejection', onUnhandled);
  };
}

/** One listener for all workers of the process, so that it can detect whether it is the only one. */
function onUnhandled(error: unknown): void {
  const pass = running.getStore()?.pass;
  if (pass) for (const failPass of workers) if (failPass(pass, error)) return;
  if (!pass && process.listenerCount('unhandledRejection') === 1) throw error;
}
