import { newId } from '../model/id.ts';
import type { NewTask } from '../model/task.ts';

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
