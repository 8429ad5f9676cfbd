/** Durable prompts as a server lists them. */
import type { McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { DurablePrompt } from '../engine/prompt.ts';
import { type Schema, toJsonSchema } from '../engine/schema.ts';
import { isJsonObject } from '../model/json.ts';

export function register(mcp: McpServer, prompt: DurablePrompt): void {
  const { listedAs, inputSchema } = prompt;
  // Ours and the SDK's describe the same Standard Schema.
  const argsSchema = inputSchema as StandardSchemaWithJSON | undefined;
  mcp.registerPrompt(listedAs, { ...shown(prompt), ...(argsSchema && { argsSchema }) }, () => {
    throw new Error(`The durable prompt ${listedAs} was got past its tasks.`);
  });
}

/** An entry of `prompts/list`. */
export function definition(prompt: DurablePrompt) {
  const { listedAs: name, inputSchema } = prompt;
  return { name, ...shown(prompt), ...(inputSchema && { arguments: argumentsOf(inputSchema, name) }) };
}

function shown({ title, description }: DurablePrompt) {
  return { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
}

/** The properties of the schema, one by one: prompts/list knows no JSON Schema. */
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
