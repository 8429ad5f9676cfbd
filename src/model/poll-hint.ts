import type { Task } from './task.ts';

/** How long a caller should wait before it looks again: what the author says, or longer for work that takes long. */
export function pollHintMs(task: Task, now: number): number {
  const until = task.phase === 'done' ? task.finishedAt : now;
  return task.pollMs ?? (until - task.createdAt > 60_000 ? 5_000 : 1_000);
}
