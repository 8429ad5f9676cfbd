import type { DurableTool, Task, Tasks } from '../../src/index.ts';
import type { chaosTools } from './tools.ts';

/** A voyage that was ordered, whether or not there is a task for it yet. */
export interface Voyage {
  readonly n: number;
  /** How long each of its timers runs, in milliseconds. */
  readonly rest: number;
}

/** However often it is ordered, there is one task for it. The owner is the run. */
export function createVoyage(
  tasks: Tasks,
  tool: ReturnType<typeof chaosTools>['voyage'],
  { n, rest }: Voyage,
  run: string,
): Promise<Task> {
  return tasks.create(tool as DurableTool, { n, rest }, { owner: run, idempotencyKey: keyOf(n) });
}

export function keyOf(n: number): string {
  return `voyage ${n}`;
}
