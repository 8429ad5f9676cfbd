/** A task of a peer, with the members of all dialects. */

import { progressKey } from '../dialects/2026-07-28/names.ts';
import type { WireFault } from '../dialects/dialect.ts';
import { internalError } from '../dialects/json-rpc.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { MalformedAnswer } from './errors.ts';

/** The limit for open questions of one task. */
const maxQuestions = 1_000;

/** The statuses of finished tasks. */
const lastStatuses = ['completed', 'failed', 'cancelled', 'unknown'] as const;
const statuses = ['submitted', 'working', 'input_required', ...lastStatuses] as const;

export type RemoteStatus = (typeof statuses)[number];

export interface RemoteTask {
  readonly taskId: string;
  readonly status: RemoteStatus;
  readonly message?: string;
  readonly createdAt?: number;
  /** How long the task is kept, counted from its creation. Null without limit. */
  readonly ttlMs?: number | null;
  /** The requested poll interval. */
  readonly pollMs?: number;
  readonly parentId?: string;
  readonly childIds: readonly string[];
  readonly progress?: RemoteProgress;
  /** The open questions by key, if the dialect shows them. */
  readonly questions: Readonly<Record<string, Message>>;
  /** The outcome, if the dialect shows it. */
  readonly result?: JsonObject;
  readonly error?: WireFault;
}

export interface RemoteProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A request without its id: from us to a peer, or from a peer to us. */
export interface Message {
  readonly method: string;
  readonly params: JsonObject;
}

export function isOver({ status }: Pick<RemoteTask, 'status'>): boolean {
  return lastStatuses.some((last) => last === status);
}

/**
 * Reads a task in any dialect. Missing optional members are fine; malformed ids, statuses, links and questions are not.
 */
export function readTask(wire: unknown): RemoteTask {
  if (!isJsonObject(wire)) throw new MalformedAnswer('a response does not contain a task');
  const { taskId, status } = wire;
  if (typeof taskId !== 'string' || taskId === '')
    throw new MalformedAnswer('a response contains a task without a taskId');
  if (!statuses.includes(status as RemoteStatus))
    throw new MalformedAnswer(`task ${taskId} has an unknown status: ${JSON.stringify(status)}`);
  const createdAt = typeof wire.createdAt === 'string' ? Date.parse(wire.createdAt) : Number.NaN;
  // Null means no limit.
  const ttlMs = wire.ttlMs === undefined ? wire.ttl : wire.ttlMs;
  const pollMs = wire.pollIntervalMs ?? wire.pollInterval ?? wire.pollFrequency;
  const message = wire.statusMessage ?? (typeof wire.error === 'string' ? wire.error : undefined);
  const progress = readProgress(isJsonObject(wire._meta) ? wire._meta[progressKey] : undefined);
  const error = readError(wire.error);
  return {
    taskId,
    status: status as RemoteStatus,
    ...(typeof message === 'string' && { message }),
    ...(Number.isFinite(createdAt) && { createdAt }),
    ...((ttlMs === null || isLength(ttlMs)) && { ttlMs }),
    ...(typeof pollMs === 'number' && Number.isFinite(pollMs) && { pollMs }),
    ...(typeof wire.parentTaskId === 'string' && { parentId: wire.parentTaskId }),
    childIds: readChildIds(taskId, wire.childTaskIds),
    ...(progress && { progress }),
    questions: readQuestions(wire.inputRequests),
    ...(isJsonObject(wire.result) && { result: wire.result }),
    ...(error && { error }),
  };
}

function isLength(ms: Json | undefined): ms is number {
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0;
}

function readChildIds(taskId: string, wire: Json | undefined): readonly string[] {
  if (wire === undefined) return [];
  if (!Array.isArray(wire) || !wire.every((id) => typeof id === 'string'))
    throw new MalformedAnswer(`the childTaskIds of task ${taskId} are not a list of strings`);
  return wire as string[];
}

export function readQuestions(wire: Json | undefined): Readonly<Record<string, Message>> {
  if (wire === undefined) return {};
  if (!isJsonObject(wire)) throw new MalformedAnswer('the inputRequests of a task are not an object');
  const requests = Object.entries(wire);
  if (requests.length > maxQuestions)
    throw new MalformedAnswer(`a task asks ${requests.length} questions at once`);
  return Object.fromEntries(requests.map(([key, request]) => [key, readRequest(key, request)]));
}

function readRequest(key: string, wire: Json): Message {
  if (!isJsonObject(wire) || typeof wire.method !== 'string')
    throw new MalformedAnswer(`the question "${key}" is not a request`);
  return { method: wire.method, params: isJsonObject(wire.params) ? wire.params : {} };
}

export function readProgress(wire: Json | undefined): RemoteProgress | undefined {
  if (!isJsonObject(wire) || typeof wire.progress !== 'number') return undefined;
  const { progress, total, message } = wire;
  return {
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message }),
  };
}

function readError(wire: Json | undefined): WireFault | undefined {
  if (!isJsonObject(wire)) return undefined;
  const { code, message, data } = wire;
  return {
    code: typeof code === 'number' ? code : internalError,
    message: typeof message === 'string' ? message : 'The server gave no reason.',
    ...(data !== undefined && { data }),
  };
}

// --- Checks of the peer's tree ------------------------------------------------------------------------------

export interface TreeLimits {
  readonly maxDepth: number;
  readonly maxTasks: number;
}

const defaultTreeLimits: TreeLimits = { maxDepth: 16, maxTasks: 10_000 };

/** Checks that the tasks of a peer form one tree, which only grows and stays within limits. */
export class TreeGuard {
  readonly #limits: TreeLimits;
  /** The parent under which each task was first listed, and its depth. */
  readonly #positions = new Map<string, { readonly parentId: string | undefined; readonly depth: number }>();
  readonly #childIds = new Map<string, readonly string[]>();

  constructor(rootId: string, limits: TreeLimits = defaultTreeLimits) {
    this.#limits = limits;
    this.#positions.set(rootId, { parentId: undefined, depth: 0 });
  }

  /** Checks the links of a polled task. Returns the ids of new subtasks. */
  admit({ taskId, parentId, childIds }: RemoteTask): readonly string[] {
    const position = this.#positions.get(taskId);
    if (!position) throw new MalformedAnswer(`a response contains task ${taskId}, which was not requested`);
    if (position.parentId !== undefined && parentId !== undefined && parentId !== position.parentId)
      throw new MalformedAnswer(
        `task ${taskId} is listed as a subtask of ${position.parentId}, but its parentTaskId is ${parentId}`,
      );
    const before = this.#childIds.get(taskId) ?? [];
    if (childIds.length < before.length || before.some((id, i) => childIds[i] !== id))
      throw new MalformedAnswer(
        `existing entries in the childTaskIds of task ${taskId} changed or disappeared`,
      );
    const added = childIds.slice(before.length);
    for (const id of added) this.#add(id, taskId, position.depth + 1);
    this.#childIds.set(taskId, childIds);
    return added;
  }

  childIds(taskId: string): readonly string[] {
    return this.#childIds.get(taskId) ?? [];
  }

  #add(id: string, parentId: string, depth: number): void {
    if (id === parentId) throw new MalformedAnswer(`task ${id} is listed as its own subtask`);
    if (this.#positions.has(id))
      throw new MalformedAnswer(
        `task ${id} is listed as a subtask of ${parentId}, but is already elsewhere in the same tree`,
      );
    if (depth > this.#limits.maxDepth)
      throw new MalformedAnswer(`the tree of tasks is deeper than ${this.#limits.maxDepth} levels`);
    if (this.#positions.size >= this.#limits.maxTasks)
      throw new MalformedAnswer(`the tree has more than ${this.#limits.maxTasks} tasks`);
    this.#positions.set(id, { parentId, depth });
  }
}
