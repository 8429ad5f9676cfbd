/**
 * A promise that a handler forgot ends that handler's task, not the process. Rejections of the host program are not
 * ours: where nobody else listens for them, they end the process as they would without us.
 */
import type { Pass } from './pass.ts';
import { passOfThisContext } from './pass-context.ts';

/** Ends the run of this pass with this error. False if the pass is not its own. */
type BreakLoose = (pass: Pass, error: unknown) => boolean;

const workers = new Set<BreakLoose>();

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
  const pass = passOfThisContext();
  if (pass) for (const breakLoose of workers) if (breakLoose(pass, error)) return;
  if (!pass && process.listenerCount('unhandledRejection') === 1) throw error;
}
