import { newId } from '../model/id.ts';
import type { NewTask } from '../model/task.ts';
import { type CrashPoint, onCrashPoint } from '../ports/crash-point.ts';

export { type CrashPoint, crashPoints } from '../ports/crash-point.ts';

/** A plain request for a task; every part can be overridden. */
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

/** Kills this process with SIGKILL, as a power cut would, when it reaches the place for the n-th time. */
export function killAt(place: CrashPoint, { time = 1 }: { readonly time?: number } = {}): void {
  let left = time;
  onCrashPoint((name) => {
    if (name === place && --left === 0) process.kill(process.pid, 'SIGKILL');
  });
}
