import { newId } from '../model/id.ts';
import type { NewTask } from '../model/task.ts';
import { type CrashPoint, onCrashPoint } from '../ports/crash-point.ts';

export { type CrashPoint, crashPoints } from '../ports/crash-point.ts';

/** A request for a task, with defaults for everything that is not given. The id is random. */
export function aTask(overrides: Partial<NewTask> = {}): NewTask {
  return {
    id: newId(),
    owner: 'alice',
    tool: 'publish_report',
    toolVersion: '1',
    origin: { dialect: '2026-07-28', method: 'tools/call' },
    arguments: { topic: 'tides' },
    deadlineMs: 24 * 3_600_000,
    retention: { from: 'finish', ms: 24 * 3_600_000 },
    ...overrides,
  };
}

/**
 * Kills this process with SIGKILL, like a power failure, when it reaches the crash point for the n-th time (`time`).
 */
export function killAt(point: CrashPoint, { time = 1 }: { readonly time?: number } = {}): void {
  let left = time;
  onCrashPoint((name) => {
    if (name === point && --left === 0) process.kill(process.pid, 'SIGKILL');
  });
}
