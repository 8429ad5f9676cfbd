import type { DurableTool, Task, Tasks } from '../../src/index.ts';
import type { chaosTools } from './tools.ts';

/** An ordered voyage, whether or not its task exists. */
export interface Voyage {
  readonly n: number;
  /** The duration of each of its timers in milliseconds. */
  readonly rest: number;
}

/** Creates the task of a voyage. Repeated orders create only one task. Its owner is the run. */
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
