/** Wire → task: what a peer says of a task of its own, in the neutral model. */
import type { DetailedTaskV2Schema, TaskV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2';
import type { z } from 'zod';
import type { InputRequest, OpenInput } from '../../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../../model/json.ts';
import type { Outcome } from '../../../model/outcome.ts';
import type { Progress, Task } from '../../../model/task.ts';
import { progressKey, revision } from './names.ts';

export type ReadableTask = (z.infer<typeof DetailedTaskV2Schema> | z.infer<typeof TaskV2Schema>) & {
  readonly _meta?: object | undefined;
};

/** The peer tells nothing of owner, tool and claims; what it does tell survives the way there and back. */
export function readTask(wire: ReadableTask): Task {
  const createdAt = Date.parse(wire.createdAt);
  const updatedAt = Date.parse(wire.lastUpdatedAt);
  const progress = progressOf(wire._meta);
  const known = {
    id: wire.taskId,
    owner: '',
    tool: '',
    toolVersion: '',
    origin: { dialect: revision, method: 'tools/call' },
    rootId: wire.taskId,
    ordinal: 0,
    depth: 0,
    childCount: 0,
    liveChildCount: 0,
    createdAt,
    updatedAt,
    deadlineAt: null,
    retention: { from: 'creation' as const, ms: wire.ttlMs, floorMs: 0 },
    version: 1,
    epoch: 0,
    ...(wire.statusMessage !== undefined && { statusMessage: wire.statusMessage }),
    ...(wire.pollIntervalMs !== undefined && { pollMs: wire.pollIntervalMs }),
    ...(progress && { progress }),
  };
  const outcome = outcomeOf(wire);
  if (outcome)
    return {
      ...known,
      phase: 'done',
      inputs: [],
      outcome,
      finishedAt: updatedAt,
      purgeAt: wire.ttlMs === null ? null : createdAt + wire.ttlMs,
    };
  const inputs = 'inputRequests' in wire ? readQuestions(wire.inputRequests, updatedAt) : [];
  return inputs.length > 0
    ? { ...known, phase: 'waiting', inputs, wakeAt: null }
    : { ...known, phase: 'running', inputs: [], wakeAt: null };
}

function outcomeOf(wire: ReadableTask): Outcome | undefined {
  switch (wire.status) {
    case 'completed': {
      const { resultType: _, ...value } = ('result' in wire ? wire.result : {}) as JsonObject;
      return { kind: 'result', isError: value.isError === true, value } as Outcome;
    }
    case 'failed': {
      const { code, message, data } = ('error' in wire ? wire.error : {}) as {
        code?: number;
        message?: string;
        data?: JsonObject;
      };
      return {
        kind: 'failure',
        message: message ?? wire.statusMessage ?? 'The task failed.',
        ...(code !== undefined && { code }),
        ...(data !== undefined && { data }),
      };
    }
    case 'cancelled':
      return { kind: 'cancelled', ...(wire.statusMessage !== undefined && { reason: wire.statusMessage }) };
    default:
      return undefined;
  }
}

function readQuestions(requests: object | undefined, askedAt: number): OpenInput[] {
  return Object.entries(requests ?? {}).map(([key, request]) => ({
    key,
    request: readInputRequest(key, request as JsonObject),
    askedAt,
    state: 'open',
  }));
}

export function readInputRequest(key: string, { method, params }: JsonObject): InputRequest {
  const said = isJsonObject(params) ? params : {};
  if (method === 'sampling/createMessage') return { kind: 'sampling', params: said };
  if (method === 'roots/list') return { kind: 'roots' };
  const message = String(said.message ?? '');
  if (said.mode === 'url')
    return {
      kind: 'url',
      message,
      url: String(said.url ?? ''),
      elicitationId: String(said.elicitationId ?? key),
    };
  return { kind: 'form', message, schema: isJsonObject(said.requestedSchema) ? said.requestedSchema : {} };
}

function progressOf(meta: object | undefined): Progress | undefined {
  const said = (meta as JsonObject | undefined)?.[progressKey];
  if (!isJsonObject(said) || typeof said.progress !== 'number') return undefined;
  const { progress, total, message } = said;
  return {
    done: progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message }),
  };
}
