/** Durable resources as a server lists them: those with a fixed URI in `resources/list`, templates in a list of theirs. */
import type { McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import type { DurableResource } from '../engine/resource.ts';

export function register(mcp: McpServer, resource: DurableResource): void {
  const { listedAs, uri } = resource;
  const readPastTasks = () => {
    throw new Error(`The durable resource ${listedAs} was read past its tasks.`);
  };
  if (resource.isTemplate)
    mcp.registerResource(listedAs, templateOf(resource), shown(resource), readPastTasks);
  else mcp.registerResource(listedAs, uri, shown(resource), readPastTasks);
}

/** An entry of `resources/list`, or of `resources/templates/list` if it is a template. */
export function definition(resource: DurableResource) {
  const { uri, listedAs: name, isTemplate } = resource;
  return { ...(isTemplate ? { uriTemplate: uri } : { uri }), name, ...shown(resource) };
}

function shown({ title, description, mimeType }: DurableResource) {
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
  };
}

/** All that is public of the SDK's class, which cannot be imported: Holdfast runs where the SDK is not installed. */
function templateOf({ uri, variablesIn }: DurableResource): ResourceTemplate {
  const template = {
    uriTemplate: { toString: () => uri, variableNames: [], match: (one: string) => variablesIn(one) ?? null },
    listCallback: undefined,
    completeCallback: () => undefined,
  };
  return template as unknown as ResourceTemplate;
}
