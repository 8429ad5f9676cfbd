/** A task of a peer, as much as any dialect says of it. */

import { progressKey } from '../dialects/2026-07-28/names.ts';
import type { WireFault } from '../dialects/dialect.ts';
import { internalError } from '../dialects/json-rpc.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { MalformedAnswer } from './errors.ts';

/** Nobody answers more than that at once. */
const mostQuestions = 1_000;

const lastStatuses = ['completed', 'failed', 'cancelled', 'unknown'] as const;
const statuses = ['submitted', 'working', 'input_required', ...lastStatuses] as const;

export type RemoteStatus = (typeof statuses)[number];

export interface RemoteTask {
  readonly taskId: string;
  readonly status: RemoteStatus;
  readonly message?: string;
  readonly createdAt?: number;
  /** How long it is kept, from its creation; null without limit. */
  readonly ttlMs?: number | null;
  /** How long to wait before the next look. */
  readonly pollMs?: number;
  readonly parentId?: string;
  readonly childIds: readonly string[];
  readonly progress?: RemoteProgress;
  /** The questions that are open, by key, where the dialect shows them. */
  readonly questions: Readonly<Record<string, Message>>;
  /** How it ended, where the dialect shows that. */
  readonly result?: JsonObject;
  readonly error?: WireFault;
}

export interface RemoteProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A request without its id: ours to a peer, or one that a peer makes of its caller. */
export interface Message {
  readonly method: string;
  readonly params: JsonObject;
}

export function isOver({ status }: Pick<RemoteTask, 'status'>): boolean {
  return lastStatuses.some((last) => last === status);
}

/** Reads what a peer says of a task, in whichever dialect. Fields that are not there are not missed; nonsense is. */
export function readTask(wire: unknown): RemoteTask {
  if (!isJsonObject(wire)) throw new MalformedAnswer('it showed something that is no task');
  const { taskId, status } = wire;
  if (typeof taskId !== 'string' || taskId === '')
    throw new MalformedAnswer('it showed a task without a taskId');
  if (!statuses.includes(status as RemoteStatus))
    throw new MalformedAnswer(`task ${taskId} has the status ${JSON.stringify(status)}, which is none`);
  const createdAt = typeof wire.createdAt === 'string' ? Date.parse(wire.createdAt) : Number.NaN;
  // Null is a value here: no limit.
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
  if (!isJsonObject(wire)) throw new MalformedAnswer('its inputRequests are not an object');
  const requests = Object.entries(wire);
  if (requests.length > mostQuestions)
    throw new MalformedAnswer(`it asks ${requests.length} questions at once`);
  return Object.fromEntries(requests.map(([key, request]) => [key, readRequest(key, request)]));
}

function readRequest(key: string, wire: Json): Message {
  if (!isJsonObject(wire) || typeof wire.method !== 'string')
    throw new MalformedAnswer(`its question "${key}" is no request`);
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

// --- Checks on a tree that a peer grows ---------------------------------------------------------------------

export interface TreeLimits {
  readonly deepest: number;
  readonly largest: number;
}

const defaultTreeLimits: TreeLimits = { deepest: 16, largest: 10_000 };

export class TreeGuard {
  readonly #limits: TreeLimits;
  /** Under which parent each task was met first, and how deep. */
  readonly #places = new Map<string, { readonly parentId: string | undefined; readonly depth: number }>();
  readonly #childIds = new Map<string, readonly string[]>();

  constructor(rootId: string, limits: TreeLimits = defaultTreeLimits) {
    this.#limits = limits;
    this.#places.set(rootId, { parentId: undefined, depth: 0 });
  }

  /** Checks what was seen of a task, and gives the children that are new. */
  admit({ taskId, parentId, childIds }: RemoteTask): readonly string[] {
    const place = this.#places.get(taskId);
    if (!place) throw new MalformedAnswer(`it showed task ${taskId}, which was not asked for`);
    if (place.parentId !== undefined && parentId !== undefined && parentId !== place.parentId)
      throw new MalformedAnswer(
        `task ${taskId} is listed as a subtask of ${place.parentId}, and names ${parentId} as its parent`,
      );
    const before = this.#childIds.get(taskId) ?? [];
    if (childIds.length < before.length || before.some((id, i) => childIds[i] !== id))
      throw new MalformedAnswer(`the list of subtasks of task ${taskId} lost or changed entries`);
    const added = childIds.slice(before.length);
    for (const id of added) this.#place(id, taskId, place.depth + 1);
    this.#childIds.set(taskId, childIds);
    return added;
  }

  childIds(taskId: string): readonly string[] {
    return this.#childIds.get(taskId) ?? [];
  }

  #place(id: string, parentId: string, depth: number): void {
    if (id === parentId) throw new MalformedAnswer(`task ${id} is listed as its own subtask`);
    if (this.#places.has(id))
      throw new MalformedAnswer(
        `task ${id} is listed as a subtask of ${parentId}, and has another place in the same tree already`,
      );
    if (depth > this.#limits.deepest)
      throw new MalformedAnswer(`its tree of tasks is deeper than ${this.#limits.deepest}`);
    if (this.#places.size >= this.#limits.largest)
      throw new MalformedAnswer(`its tree has more than ${this.#limits.largest} tasks`);
    this.#places.set(id, { parentId, depth });
  }
}
