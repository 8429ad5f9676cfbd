import { setTimeout as pause } from 'node:timers/promises';
import type { Message } from './wire.ts';

export async function until(condition: () => unknown, withinMs = 60_000): Promise<void> {
  for (const started = performance.now(); !(await condition()); await pause(2)) {
    if (performance.now() - started > withinMs) throw new Error(`Not so within ${withinMs} ms: ${condition}`);
  }
}

const ended = ['completed', 'failed', 'cancelled', 'unknown'];

/** Asks for a task until it has one of these statuses. Throws if it ends with another. */
export async function untilStatus(
  get: () => Promise<Message>,
  ...statuses: readonly string[]
): Promise<Message> {
  for (;;) {
    const { result, error } = await get();
    if (error) throw new Error(`tasks/get: ${error.message}`);
    if (statuses.includes(result.status)) return result;
    if (ended.includes(result.status))
      throw new Error(`The task is ${result.status}, and was to be ${statuses.join(' or ')}.`);
    await pause(2);
  }
}
