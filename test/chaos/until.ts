import { setTimeout as pause } from 'node:timers/promises';

/** Looks again and again until the condition holds. */
export async function until(condition: () => boolean, withinMs = 60_000): Promise<void> {
  for (const started = performance.now(); !condition(); await pause(2)) {
    if (performance.now() - started > withinMs) throw new Error(`Not so within ${withinMs} ms: ${condition}`);
  }
}
