/** Whose code runs: that of a handler, of one of its steps, or anybody else's. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pass } from './pass.ts';

/** The pass whose handler, or whose step, is running. */
export const running = new AsyncLocalStorage<{ readonly pass: Pass; readonly step?: string }>();

export function passOfThisContext(): Pass | undefined {
  return running.getStore()?.pass;
}

/** True in the code of a handler, and false in its steps. */
export function isInHandler(): boolean {
  const context = running.getStore();
  return context !== undefined && context.step === undefined;
}

/** Does what is none of the handler's own doing, though it came about by it. */
export const outsideHandlers = <T>(act: () => T): T => running.exit(act);
