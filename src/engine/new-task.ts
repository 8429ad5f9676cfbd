/** From a call of a tool to the request for a task. */
import type { Json } from '../model/json.ts';
import type { Retention } from '../model/retention.ts';
import type { NewTask, Origin, Owner, Task, TaskId } from '../model/task.ts';
import { subtasksTrace } from '../model/trace.ts';
import { carried } from './carried.ts';
import { parse } from './schema.ts';
import type { DurableTool } from './tool.ts';

export interface Requested {
  readonly owner: Owner;
  readonly origin: Origin;
  readonly idempotency?: NewTask['idempotency'];
  readonly largestValue?: number;
  /** How long the requestor wants the task to be known, counted from now. */
  readonly retention?: Retention;
}

/** Refuses arguments that do not fit. What is stored is what the caller sent; each pass parses it anew. */
export async function rootRequest(
  id: TaskId,
  tool: DurableTool,
  input: unknown,
  { owner, origin, idempotency, largestValue, retention }: Requested,
): Promise<NewTask> {
  return {
    id,
    owner,
    origin,
    tool: tool.name,
    toolVersion: tool.version,
    arguments: await checkedArguments(tool, input, largestValue),
    deadlineMs: tool.deadlineMs,
    retention: retention ?? { from: 'finish', ms: tool.retentionMs },
    ...(idempotency && { idempotency }),
  };
}

export function childRequest(
  id: TaskId,
  tool: DurableTool,
  input: unknown,
  parent: Task,
  largestValue?: number,
): Promise<NewTask> {
  const { owner, origin } = parent;
  const { trace } = origin;
  return rootRequest(id, tool, input, {
    owner,
    origin: trace ? { ...origin, trace: subtasksTrace(trace) } : origin,
    ...(largestValue !== undefined && { largestValue }),
  });
}

async function checkedArguments(tool: DurableTool, input: unknown, largest?: number): Promise<Json> {
  const value = carried(input, `The call of ${tool.name}`, largest) ?? {};
  if (tool.inputSchema) await parse(tool.inputSchema, value, `The input of ${tool.name}`, tool.secrets);
  return value;
}
