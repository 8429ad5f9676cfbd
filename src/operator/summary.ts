/**
 * What operators are shown of tasks: a row of a list, what is left of a damaged task, and values in short. What is given
 * is redacted already, except to `redactedSummary`.
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

const longestLine = 300;

/** A row of a list, from a task as it is stored. */
export function redactedSummary(task: Task | CorruptTask, tasks: Pick<Tasks, 'secretsOf'>): TaskSummary {
  return isCorrupt(task) ? damagedSummary(task) : summaryOf(redactTask(task, tasks.secretsOf(task)));
}

export function summaryOf(task: Task): TaskSummary {
  const { statusMessage, blocked: stuck, progress, parentId } = task;
  const problem = task.phase === 'done' ? problemOf(task.outcome) : undefined;
  return {
    id: task.id,
    owner: task.owner,
    tool: task.tool,
    toolVersion: task.toolVersion,
    status: statusOf(task),
    ...(stuck && { blocked: shortText(stuck.message, longestLine) }),
    ...(statusMessage !== undefined && { statusMessage: shortText(statusMessage, longestLine) }),
    ...(progress && { progress: shortProgress(progress, longestLine) }),
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

/** What an error result says; a large one may have been left out. */
function textOf(result: Json): string {
  if (typeof result === 'string') return result;
  const content = isJsonObject(result) ? result.content : undefined;
  const [first] = Array.isArray(content) ? (content as Json[]) : [];
  const text = first !== undefined && isJsonObject(first) ? first.text : undefined;
  return typeof text === 'string' ? text : 'It ended with an error result.';
}

function oneLine(text: string): string {
  return shortText(text.trim().split('\n', 1)[0]!.trim(), longestLine);
}

// --- Damaged tasks ------------------------------------------------------------------------------------------

/** What is known of a task that could not be read, if that is what went wrong. */
export async function damagedIn(
  { queries: survey }: Pick<Database, 'queries'>,
  error: unknown,
): Promise<Task | CorruptTask | undefined> {
  if (!(error instanceof TaskCorrupt)) throw error;
  return (await survey.list({ text: error.taskId, limit: 1 })).tasks[0];
}

/** What can be told of a task whose record cannot be read. */
function damagedSummary({ id, owner, tool, status: standing = 'lost', createdAt }: CorruptTask): TaskSummary {
  return {
    id,
    owner,
    tool,
    toolVersion: '',
    status: standing,
    isCorrupt: true,
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
  isCorrupt: true,
  problem: 'The record of its steps is damaged. Other tasks are not affected; restore it from a back-up.',
} as const;

/** Of its story only the audit log is left. */
export function damagedStory(task: TaskSummary, audit: readonly AuditEntry[]): TaskDetails {
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

// --- Values, as much of them as there is room for -----------------------------------------------------------

interface Room {
  left: number;
}

/**
 * A value of roughly so many characters of JSON at most. No more of it is walked through than is shown, so that a large
 * one costs no more than a small one.
 */
export function shortened(value: Json, most: number): Json {
  const room: Room = { left: most };
  const short = cut(value, room);
  return room.left >= 0 ? value : short;
}

export function isLargerThan(value: Json, most: number): boolean {
  const room: Room = { left: most };
  cut(value, room);
  return room.left < 0;
}

export function shortText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}… (${text.length} characters)` : text;
}

export function shortProgress(progress: Progress, most: number): Progress {
  const { message } = progress;
  return message === undefined ? progress : { ...progress, message: shortText(message, most) };
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
  // Not Object.entries: that makes a list of all of it first.
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
