/** Converts the call of a tool to a request to create its task. */
import type { NewTask, Task, TaskId } from '../../model/task.ts';
import { subtasksTrace } from '../../model/trace.ts';
import { toJsonValue } from '../replay/json-value.ts';
import { parse } from './schema.ts';
import type { DurableTool } from './tool.ts';

/**
 * Throws if the arguments do not match the input schema. Returns them as the caller sent them, not as the schema parsed
 * them, because each pass parses the stored arguments again. `maxValueSize` is in characters of JSON.
 */
export async function rootRequest(
  id: TaskId,
  tool: DurableTool,
  input: unknown,
  { owner, origin, retention }: Pick<NewTask, 'owner' | 'origin' | 'retention'>,
  maxValueSize: number,
): Promise<NewTask> {
  const { name, version, inputSchema, secrets, deadlineMs } = tool;
  const value = toJsonValue(input, `The call of ${name}`, maxValueSize) ?? {};
  if (inputSchema) await parse(inputSchema, value, `The input of ${name}`, secrets);
  return { id, owner, origin, tool: name, toolVersion: version, arguments: value, deadlineMs, retention };
}

/** The request for a subtask. It inherits the owner and origin of its parent (the `Task`). */
export function childRequest(
  id: TaskId,
  tool: DurableTool,
  input: unknown,
  { owner, origin }: Task,
  maxValueSize: number,
): Promise<NewTask> {
  const { trace } = origin;
  const own = trace ? { ...origin, trace: subtasksTrace(trace) } : origin;
  const retention = { from: 'finish', ms: tool.retentionMs } as const;
  return rootRequest(id, tool, input, { owner, origin: own, retention }, maxValueSize);
}
