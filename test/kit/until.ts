import { setTimeout as pause } from 'node:timers/promises';

/** Checks again and again until the condition holds. */
export async function until(condition: () => unknown, withinMs = 60_000): Promise<void> {
  for (const started = performance.now(); !(await condition()); await pause(2)) {
    if (performance.now() - started > withinMs) throw new Error(`Not so within ${withinMs} ms: ${condition}`);
  }
}
