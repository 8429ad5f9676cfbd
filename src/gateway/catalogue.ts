/**
 * What clients are shown: everything that the upstreams list and every command, under names of which none stands for
 * two things. Lists are put together when an upstream's have changed, so that showing them costs nothing.
 */
import type { DurableTool } from '../engine/handlers/tool.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { taskSupport, toolDefinition } from '../server/sdk/listings.ts';
import type { Called } from '../server/task-server.ts';
import { headOf, relayToolFor } from './upstream/relay.ts';
import type { Upstream } from './upstream/upstream.ts';

/** Something that is listed, and what its owner calls it. */
interface Named {
  readonly owner: string;
  readonly name: string;
  readonly listed: JsonObject;
}

interface Prompt extends Named {
  readonly upstream: Upstream;
}

interface Tool extends Named {
  readonly call: (input: unknown) => Called;
}

export class Catalogue {
  readonly #upstreams: ReadonlyMap<Upstream, DurableTool>;
  readonly #commands: readonly DurableTool[];
  readonly #reserved: readonly string[];
  #tools: ReadonlyMap<string, Tool> = new Map();
  #prompts: ReadonlyMap<string, Prompt> = new Map();
  tools: readonly JsonObject[] = [];
  prompts: readonly JsonObject[] = [];
  resources: readonly JsonObject[] = [];
  resourceTemplates: readonly JsonObject[] = [];

  /** The upstreams with the tools of the engine that carry their calls out; names that are the gateway's own. */
  constructor(
    upstreams: ReadonlyMap<Upstream, DurableTool>,
    commands: readonly DurableTool[],
    reserved: readonly string[] = [],
  ) {
    this.#reserved = reserved;
    this.#upstreams = upstreams;
    this.#commands = commands;
    this.refresh();
  }

  /** The durable tool that a name stands for, and the input that its task is made with. */
  called(name: string, input: unknown): Called | undefined {
    const found = this.#tools.get(name)?.call(input);
    return found && { ...found, calledAs: name };
  }

  /** The prompt that a name stands for. */
  prompt(name: string): Pick<Prompt, 'upstream' | 'name'> | undefined {
    return this.#prompts.get(name);
  }

  refresh(): void {
    const upstreams = [...this.#upstreams.keys()];
    const relayed = [...this.#upstreams].flatMap(([upstream, base]) =>
      upstream.listed.tools.map((listed) => relayedTool(upstream, base, listed)),
    );
    this.#tools = named([...this.#commands.map(ownTool), ...relayed], this.#reserved);
    this.tools = shown(this.#tools);
    this.#prompts = named(
      upstreams.flatMap((upstream) =>
        upstream.listed.prompts.map((listed) => ({
          owner: upstream.name,
          name: String(listed.name),
          listed,
          upstream,
        })),
      ),
    );
    this.prompts = shown(this.#prompts);
    const all = (key: 'resources' | 'resourceTemplates') => upstreams.flatMap(({ listed }) => listed[key]);
    this.resources = distinct(all('resources'), 'uri');
    this.resourceTemplates = distinct(all('resourceTemplates'), 'uriTemplate');
  }

  /** Those that may have a resource, the likeliest first: who lists it, who has a template for its like, all others. */
  holdersOf(uri: string): Upstream[] {
    const rank = ({ listed }: Upstream) => {
      if (listed.resources.some((resource) => resource.uri === uri)) return 0;
      return listed.resourceTemplates.some(({ uriTemplate }) => fits(String(uriTemplate), uri)) ? 1 : 2;
    };
    return [...this.#upstreams.keys()]
      .filter((upstream) => upstream.has('resources'))
      .sort((a, b) => rank(a) - rank(b));
  }
}

function ownTool(command: DurableTool): Tool {
  const listed = toolDefinition(command) as unknown as JsonObject;
  return { owner: 'command', name: command.name, listed, call: (input) => ({ tool: command, input }) };
}

function relayedTool(upstream: Upstream, base: DurableTool, listed: JsonObject): Tool {
  const name = String(listed.name);
  const tool = relayToolFor(base, upstream, name);
  const isLimited = upstream.slots.has(name);
  // The engine counts the slots of limited tools, so nothing may start without it.
  const isCounted = isLimited || upstream.config.policy.concurrency !== undefined;
  return {
    owner: upstream.name,
    name,
    listed: {
      ...listed,
      inputSchema: withoutHeaders(listed.inputSchema),
      execution: { taskSupport: taskSupport[tool.task] },
    },
    call: (input) => {
      const call = { name, arguments: isJsonObject(input) ? input : {}, ...(isLimited && { isLimited }) };
      return {
        tool,
        input: call,
        ...(!isCounted && { head: headOf(upstream, call) }),
        ...(upstream.has('logging') && { listen: upstream.logs.listen }),
      };
    },
  };
}

function shown(entries: ReadonlyMap<string, Named>): JsonObject[] {
  return [...entries].map(([name, { listed }]) => ({ ...listed, name }));
}

/** Own names where they are unique; where they are not, with that of their upstream in front. */
function named<T extends Named>(
  entries: readonly T[],
  reserved: readonly string[] = [],
): ReadonlyMap<string, T> {
  const byName = Map.groupBy(entries, ({ name }) => name);
  const isUnique = (name: string) => byName.get(name)?.length === 1 && !reserved.includes(name);
  const taken = new Set([...reserved, ...[...byName.keys()].filter(isUnique)]);
  const all = entries.map((entry) => {
    if (isUnique(entry.name)) return [entry.name, entry] as const;
    let name = `${entry.owner}_${entry.name}`;
    while (taken.has(name)) name += '_';
    taken.add(name);
    return [name, entry] as const;
  });
  return new Map(all);
}

function distinct(entries: readonly JsonObject[], key: string): JsonObject[] {
  return [...new Map(entries.toReversed().map((entry) => [entry[key], entry])).values()].reverse();
}

/** Of a template only what stands before its first variable, and after its last, is compared. */
function fits(template: string, uri: string): boolean {
  const first = template.indexOf('{');
  if (first < 0) return template === uri;
  return (
    uri.startsWith(template.slice(0, first)) && uri.endsWith(template.slice(template.lastIndexOf('}') + 1))
  );
}

/** Which arguments are repeated in headers is between the upstream and us. */
function withoutHeaders(schema: unknown): JsonObject {
  if (!isJsonObject(schema)) return { type: 'object' };
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const bare = Object.entries(properties).map(([name, property]) => {
    if (!isJsonObject(property)) return [name, property] as const;
    const { 'x-mcp-header': _, ...rest } = property;
    return [name, rest] as const;
  });
  return { ...schema, properties: Object.fromEntries(bare) };
}
