/**
 * Summaries of tasks for operators: rows of lists, corrupt tasks, and shortened values. All functions except
 * `redactedSummary` expect redacted values.
 */

import type { Tasks } from '../engine/tasks.ts';
import { isJsonObject, type Json } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import { redactTask } from '../model/redaction.ts';
import { statusOf } from '../model/status.ts';
import { openInputs, type Progress, type Task } from '../model/task.ts';
import type { AuditEntry } from '../ports/audit.ts';
import { type CorruptTask, isCorrupt } from '../ports/query.ts';
import type { Database } from '../ports/queue.ts';
import { TaskCorrupt } from '../ports/store-errors.ts';
import type { TaskDetails, TaskSummary } from './api.ts';

/** Maximum length of a text in a summary, in characters. */
const maxLine = 300;

/** Redacts and summarizes a stored task. */
export function redactedSummary(task: Task | CorruptTask, tasks: Pick<Tasks, 'secretsOf'>): TaskSummary {
  return isCorrupt(task) ? corruptSummary(task) : summaryOf(redactTask(task, tasks.secretsOf(task)));
}

export function summaryOf(task: Task): TaskSummary {
  const { statusMessage, blocked, progress, parentId } = task;
  const problem = task.phase === 'done' ? problemOf(task.outcome) : undefined;
  return {
    id: task.id,
    owner: task.owner,
    tool: task.tool,
    toolVersion: task.toolVersion,
    status: statusOf(task),
    ...(blocked && { blocked: shortText(blocked.message, maxLine) }),
    ...(statusMessage !== undefined && { statusMessage: shortText(statusMessage, maxLine) }),
    ...(progress && { progress: shortProgress(progress, maxLine) }),
    ...(problem !== undefined && { problem: oneLine(problem) }),
    createdAt: task.createdAt,
    updatedAt: task.updatedAt,
    ...(task.phase === 'done' && { finishedAt: task.finishedAt }),
    ...(task.unpublished && { plainCall: true }),
    deadlineAt: task.deadlineAt,
    ...(parentId !== undefined && { parentId }),
    rootId: task.rootId,
    childCount: task.childCount,
    liveChildCount: task.liveChildCount,
    openQuestions: openInputs(task).length,
    passes: task.epoch,
    version: task.version,
  };
}

function problemOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'failure' || outcome.kind === 'lost') return outcome.message;
  if (outcome.kind === 'cancelled') return outcome.reason;
  return outcome.isError ? textOf(outcome.value) : undefined;
}

/** The text of an error result. */
function textOf(result: Json): string {
  if (typeof result === 'string') return result;
  const content = isJsonObject(result) ? result.content : undefined;
  const [first] = Array.isArray(content) ? (content as Json[]) : [];
  const text = first !== undefined && isJsonObject(first) ? first.text : undefined;
  return typeof text === 'string' ? text : 'The tool returned an error without a text.';
}

function oneLine(text: string): string {
  return shortText(text.trim().split('\n', 1)[0]!.trim(), maxLine);
}

// --- Corrupt tasks ------------------------------------------------------------------------------------------

/** The corrupt task that caused a `TaskCorrupt` error, as far as it is known. Throws other errors. */
export async function corruptTaskOf(
  { queries }: Pick<Database, 'queries'>,
  error: unknown,
): Promise<Task | CorruptTask | undefined> {
  if (!(error instanceof TaskCorrupt)) throw error;
  return (await queries.list({ text: error.taskId, limit: 1 })).tasks[0];
}

/** The summary of a task whose record cannot be read. */
function corruptSummary({ id, owner, tool, status = 'lost', createdAt }: CorruptTask): TaskSummary {
  return {
    id,
    owner,
    tool,
    toolVersion: '',
    status,
    isCorrupt: true,
    problem: 'The stored record is corrupt. Other tasks are not affected; restore the record from a backup.',
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

/** For a task that can be read, but whose history cannot. */
export const corruptHistory = {
  isCorrupt: true,
  problem: 'The journal is corrupt. Other tasks are not affected; restore it from a backup.',
} as const;

/** The details of a corrupt task contain only its summary and the audit log. */
export function corruptDetails(task: TaskSummary, audit: readonly AuditEntry[]): TaskDetails {
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

// --- Shortened values ---------------------------------------------------------------------------------------

/** The number of characters that may still be shown. Negative if the value is too large. */
interface Room {
  left: number;
}

/**
 * Shortens a value to about `max` characters of JSON. Only walks the part that is shown, so that a large value
 * costs no more than a small one.
 */
export function shortened(value: Json, max: number): Json {
  const room: Room = { left: max };
  const short = cut(value, room);
  return room.left >= 0 ? value : short;
}

/** True if the value has more than about `max` characters of JSON. */
export function isLargerThan(value: Json, max: number): boolean {
  const room: Room = { left: max };
  cut(value, room);
  return room.left < 0;
}

export function shortText(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}… (${text.length} characters)` : text;
}

export function shortProgress(progress: Progress, max: number): Progress {
  const { message } = progress;
  return message === undefined ? progress : { ...progress, message: shortText(message, max) };
}

function cut(value: Json, room: Room): Json {
  if (typeof value === 'string') {
    const left = Math.max(0, room.left);
    room.left -= value.length + 2;
    return room.left < 0 ? shortText(value, left) : value;
  }
  if (typeof value !== 'object' || value === null) {
    room.left -= String(value).length;
    return value;
  }
  room.left -= 2;
  if (isJsonObject(value)) return cutObject(value, room);
  const parts: Json[] = [];
  const { length } = value as readonly Json[];
  for (const part of value as readonly Json[]) {
    if (room.left < 0) {
      parts.push(`… ${length - parts.length} more`);
      break;
    }
    room.left--;
    parts.push(cut(part, room));
  }
  return parts;
}

function cutObject(object: { readonly [key: string]: Json }, room: Room): Json {
  const parts: [string, Json][] = [];
  // Not Object.entries, which would first copy the whole object.
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue;
    if (room.left < 0) {
      parts.push(['…', 'and more']);
      break;
    }
    room.left -= key.length + 4;
    parts.push([shortText(key, 200), cut(object[key]!, room)]);
  }
  return Object.fromEntries(parts);
}
