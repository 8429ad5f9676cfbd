/** Durable tools as a server lists them, and as it tells of their progress. */
import type { McpServer, ServerContext, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { parse, toJsonSchema } from '../engine/schema.ts';
import type { DurableTool, TaskSetting } from '../engine/tool.ts';
import type { JsonObject } from '../model/json.ts';
import type { Progress } from '../model/task.ts';

/** What clients of 2025-11-25 read in a list of tools; the SDK keeps it from later ones. */
const taskSupport: Record<TaskSetting, 'required' | 'optional' | 'forbidden'> = {
  required: 'required',
  always: 'optional',
  auto: 'optional',
  never: 'forbidden',
};

/** A caller that waits for the plain result, and gave a token for it, is told how far the work is. */
export function progressOf(
  { mcpReq }: ServerContext,
  _meta?: JsonObject,
): { onProgress?: (progress: Progress) => void } {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return {};
  let last = Number.NEGATIVE_INFINITY;
  return {
    onProgress: ({ done, total, message }) => {
      // It must grow with each notification, whatever a handler says.
      if (done <= last) return;
      last = done;
      const params = { progressToken, progress: done, ...(total !== undefined && { total }) };
      const said = { ...params, ...(message !== undefined && { message }), ...(_meta && { _meta }) };
      void mcpReq.notify({ method: 'notifications/progress', params: said }).catch(() => {});
    },
  };
}

/** Ours and the SDK's describe the same Standard Schema. */
type ListedSchema = StandardSchemaWithJSON<Record<string, unknown>>;

export function register(mcp: McpServer, tool: DurableTool): void {
  const { name, title, description, annotations, inputSchema, outputSchema } = tool;
  const registered = mcp.registerTool(
    name,
    {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(annotations && { annotations }),
      ...(inputSchema && { inputSchema: inputSchema as ListedSchema }),
      ...(outputSchema && { outputSchema: outputSchema as ListedSchema }),
    },
    () => {
      throw new Error(`The durable tool ${name} was called past its tasks.`);
    },
  );
  registered.execution = { taskSupport: taskSupport[tool.task] };
}

export function definition(tool: DurableTool) {
  const { name, title, description, annotations, inputSchema, outputSchema } = tool;
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(annotations && { annotations }),
    inputSchema: inputSchema ? toJsonSchema(inputSchema, `The input of ${name}`) : { type: 'object' },
    ...(outputSchema && { outputSchema: toJsonSchema(outputSchema, `The output of ${name}`) }),
    execution: { taskSupport: taskSupport[tool.task] },
  };
}

/** What a model may be told while the task of a call goes on. */
export async function immediateResponse(tool: DurableTool, input: unknown): Promise<string | undefined> {
  const { immediately, inputSchema, name, secrets } = tool;
  if (typeof immediately !== 'function') return immediately;
  const parsed = inputSchema ? await parse(inputSchema, input ?? {}, `The input of ${name}`, secrets) : input;
  return immediately(parsed as never);
}
