/** Whose code is running: the handler or the step of which pass, told by the asynchronous context. */
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

/** True in the code of a handler, and false in its steps. */
export function isInHandler(): boolean {
  const context = running.getStore();
  return context !== undefined && context.step === undefined;
}

/** Does what is none of the handler's own doing, though it came about by it. */
export const outsideHandlers = <T>(act: () => T): T => running.exit(act);

// --- Promises that a handler forgot -------------------------------------------------------------------------

/** Ends the run of this pass with this error. False if the pass is not its own. */
type BreakLoose = (pass: Pass, error: unknown) => boolean;

const workers = new Set<BreakLoose>();

/**
 * An unhandled rejection in a handler ends that handler's task, not the process. Rejections of the host program are not
 * ours: if nobody else listens for them, they end the process as they would without us.
 */
export function catchUnhandled(breakLoose: BreakLoose): () => void {
  if (workers.size === 0) process.on('unhandledRejection', onUnhandled);
  workers.add(breakLoose);
  return () => {
    workers.delete(breakLoose);
    if (workers.size === 0) process.off('unhandledRejection', onUnhandled);
  };
}

/** One listener for all workers of the process, so that it knows whether it is the only one. */
function onUnhandled(error: unknown): void {
  const pass = running.getStore()?.pass;
  if (pass) for (const breakLoose of workers) if (breakLoose(pass, error)) return;
  if (!pass && process.listenerCount('unhandledRejection') === 1) throw error;
}
