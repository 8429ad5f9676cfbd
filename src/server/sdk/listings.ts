/** The entries of durable tools, resources and prompts in a server's lists. */
import type { McpServer, ResourceTemplate, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { DurablePrompt } from '../../engine/handlers/prompt.ts';
import type { DurableResource } from '../../engine/handlers/resource.ts';
import { parse, type Schema, toJsonSchema } from '../../engine/handlers/schema.ts';
import type { DurableTool, TaskSetting } from '../../engine/handlers/tool.ts';
import { isJsonObject } from '../../model/json.ts';

/** The `taskSupport` of a tool for clients of 2025-11-25; the SDK hides it from later ones. */
export const taskSupport: Readonly<Record<TaskSetting, 'required' | 'optional' | 'forbidden'>> = {
  required: 'required',
  always: 'optional',
  auto: 'optional',
  never: 'forbidden',
};

/** Returns the handler to register with the SDK. It never runs: `attach` answers the request first. */
const notRegistered = (what: string) => () => {
  throw new Error(`The durable ${what} was called without going through tasks.attach().`);
};

// Ours and the SDK's schemas describe the same Standard Schema.
type ListedSchema = StandardSchemaWithJSON<Record<string, unknown>>;

// --- Tools ------------------------------------------------------------------------------------------------

export function registerTool(mcp: McpServer, tool: DurableTool): void {
  const { name, inputSchema, outputSchema } = tool;
  const registered = mcp.registerTool(
    name,
    {
      ...shownOfTool(tool),
      ...(inputSchema && { inputSchema: inputSchema as ListedSchema }),
      ...(outputSchema && { outputSchema: outputSchema as ListedSchema }),
    },
    notRegistered(`tool ${name}`),
  );
  registered.execution = { taskSupport: taskSupport[tool.task] };
}

/** An entry of `tools/list`. */
export function toolDefinition(tool: DurableTool) {
  const { name, inputSchema, outputSchema } = tool;
  return {
    name,
    ...shownOfTool(tool),
    inputSchema: inputSchema ? toJsonSchema(inputSchema, `The input of ${name}`) : { type: 'object' },
    ...(outputSchema && { outputSchema: toJsonSchema(outputSchema, `The output of ${name}`) }),
    execution: { taskSupport: taskSupport[tool.task] },
  };
}

function shownOfTool(tool: DurableTool) {
  const { annotations } = tool;
  return { ...titled(tool), ...(annotations && { annotations }) };
}

/** The tool's message for the model while the task of a call continues; undefined if it has none. */
export async function immediateResponse(tool: DurableTool, input: unknown): Promise<string | undefined> {
  const { immediateResponse: immediately, inputSchema, name, secrets } = tool;
  if (typeof immediately !== 'function') return immediately;
  const parsed = inputSchema ? await parse(inputSchema, input ?? {}, `The input of ${name}`, secrets) : input;
  return immediately(parsed as never);
}

// --- Resources --------------------------------------------------------------------------------------------

export function registerResource(mcp: McpServer, resource: DurableResource): void {
  const { listedAs, uri, isTemplate } = resource;
  const handler = notRegistered(`resource ${listedAs}`);
  // The SDK has one overload for URIs and one for templates; the cast selects the first.
  const at = (isTemplate ? templateOf(resource) : uri) as string;
  mcp.registerResource(listedAs, at, shownOfResource(resource), handler);
}

/** An entry of `resources/list`, or of `resources/templates/list` if it is a template. */
export function resourceDefinition(resource: DurableResource) {
  const { uri, listedAs: name, isTemplate } = resource;
  return { ...(isTemplate ? { uriTemplate: uri } : { uri }), name, ...shownOfResource(resource) };
}

function shownOfResource(resource: DurableResource) {
  const { mimeType } = resource;
  return { ...titled(resource), ...(mimeType !== undefined && { mimeType }) };
}

/** Implements the public part of the SDK's class. It cannot be imported: Holdfast also runs without the SDK. */
function templateOf({ uri, variablesIn }: DurableResource): ResourceTemplate {
  const template = {
    uriTemplate: { toString: () => uri, variableNames: [], match: (one: string) => variablesIn(one) ?? null },
    listCallback: undefined,
    completeCallback: () => undefined,
  };
  return template as unknown as ResourceTemplate;
}

// --- Prompts ----------------------------------------------------------------------------------------------

export function registerPrompt(mcp: McpServer, prompt: DurablePrompt): void {
  const { listedAs } = prompt;
  const argsSchema = prompt.inputSchema as StandardSchemaWithJSON | undefined;
  mcp.registerPrompt(
    listedAs,
    { ...titled(prompt), ...(argsSchema && { argsSchema }) },
    notRegistered(`prompt ${listedAs}`),
  );
}

/** An entry of `prompts/list`. */
export function promptDefinition(prompt: DurablePrompt) {
  const { listedAs: name, inputSchema } = prompt;
  return { name, ...titled(prompt), ...(inputSchema && { arguments: argumentsOf(inputSchema, name) }) };
}

/** The properties of the schema as a list: `prompts/list` has no JSON Schema. */
function argumentsOf(schema: Schema, name: string) {
  const { properties, required } = toJsonSchema(schema, `The prompt ${name}`);
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([argument, property]) => {
    const description = isJsonObject(property) ? property.description : undefined;
    return {
      name: argument,
      ...(typeof description === 'string' && { description }),
      required: Array.isArray(required) && required.includes(argument),
    };
  });
}

function titled({ title, description }: Pick<DurableTool, 'title' | 'description'>) {
  return { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
}
