/** Tasks whose records are damaged, as far as they can be shown. */
import type { AuditEntry } from '../engine/audit.ts';
import type { Database } from '../engine/queue.ts';
import { TaskDamaged } from '../engine/store-errors.ts';
import type { DamagedTask } from '../engine/survey.ts';
import type { Task } from '../model/task.ts';
import type { TaskStory, TaskSummary } from './api.ts';

/** What is known of a task that could not be read, if that is what went wrong. */
export async function damagedIn(
  { survey }: Pick<Database, 'survey'>,
  error: unknown,
): Promise<Task | DamagedTask | undefined> {
  if (!(error instanceof TaskDamaged)) throw error;
  return (await survey.list({ text: error.taskId, limit: 1 })).tasks[0];
}

/** What can be told of a task whose record cannot be read. */
export function damagedSummary({ id, owner, tool, standing = 'lost', createdAt }: DamagedTask): TaskSummary {
  return {
    id,
    owner,
    tool,
    toolVersion: '',
    standing,
    isDamaged: true,
    problem: 'Its record in the store is damaged. Other tasks are not affected; restore it from a back-up.',
    createdAt,
    updatedAt: createdAt,
    deadlineAt: null,
    rootId: id,
    childCount: 0,
    liveChildCount: 0,
    openQuestions: 0,
    passes: 0,
    version: 0,
  };
}

/** The task can be read, and what happened to it cannot. */
export const damagedHistory = {
  isDamaged: true,
  problem: 'The record of its steps is damaged. Other tasks are not affected; restore it from a back-up.',
} as const;

/** Of its story only the audit log is left. */
export function damagedStory(task: TaskSummary, audit: readonly AuditEntry[]): TaskStory {
  return {
    task,
    origin: { dialect: 'unknown', method: 'unknown' },
    arguments: null,
    purgeAt: null,
    wakeAt: null,
    ancestors: [],
    children: [],
    passes: [],
    calls: [],
    omittedCalls: 0,
    questions: [],
    events: [],
    omittedEvents: 0,
    audit,
  };
}
