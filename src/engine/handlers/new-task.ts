/** Converts the call of a tool to the request for a task. */
import type { NewTask, Task, TaskId } from '../../model/task.ts';
import { subtasksTrace } from '../../model/trace.ts';
import { toJsonValue } from '../replay/json-value.ts';
import { parse } from './schema.ts';
import type { DurableTool } from './tool.ts';

/** Refuses arguments that do not fit. The stored arguments are those that the caller sent, and each pass parses them again. */
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
