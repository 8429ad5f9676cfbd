/** Whose code is running: the handler or the step of which pass, told by the asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pass } from './pass.ts';

/** The pass whose handler, or whose step, is running. */
export const running = new AsyncLocalStorage<{ readonly pass: Pass; readonly step?: string }>();

/** Which task and step is running, for whoever looks while the event loop is blocked. */
export function whatRuns():
  | { readonly task: string; readonly tool: string; readonly step?: string }
  | undefined {
  const context = running.getStore();
  if (!context) return undefined;
  const { task, tool } = context.pass.name;
  return { task, tool, ...(context.step !== undefined && { step: context.step }) };
}

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
