/**
 * The lists that clients see: everything that the upstreams list, and every command, under unique names. The lists are
 * rebuilt only when the lists of an upstream change, so that serving them is cheap.
 */
import type { DurableTool } from '../engine/handlers/tool.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { taskSupport, toolDefinition } from '../server/sdk/listings.ts';
import type { Called } from '../server/task-server.ts';
import { relayToolFor, startBeforeTask } from './upstream/relay.ts';
import type { Upstream } from './upstream/upstream.ts';

/**
 * An entry as its owner defines it. `owner` is the name of an upstream, or `command`. `name` is the owner's name for
 * it.
 */
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
  /** By the unique names that clients see. */
  #tools: ReadonlyMap<string, Tool> = new Map();
  #prompts: ReadonlyMap<string, Prompt> = new Map();
  tools: readonly JsonObject[] = [];
  prompts: readonly JsonObject[] = [];
  resources: readonly JsonObject[] = [];
  resourceTemplates: readonly JsonObject[] = [];

  /** Takes each upstream with the engine's tool that relays its calls. `reserved` are the gateway's own tool names. */
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

  /** The durable tool that clients see under this name, and the input of its task. Undefined if there is none. */
  called(name: string, input: unknown): Called | undefined {
    const found = this.#tools.get(name)?.call(input);
    return found && { ...found, calledAs: name };
  }

  /** The upstream of the prompt that clients see under this name, and the prompt's name there. */
  prompt(name: string): Pick<Prompt, 'upstream' | 'name'> | undefined {
    return this.#prompts.get(name);
  }

  /** Rebuilds all lists from the current lists of the upstreams. */
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

  /** Upstreams that may have a resource: first those that list it, then those with a matching template, then others. */
  candidatesFor(uri: string): Upstream[] {
    const rank = ({ listed }: Upstream) => {
      if (listed.resources.some((resource) => resource.uri === uri)) return 0;
      return listed.resourceTemplates.some(({ uriTemplate }) => matches(String(uriTemplate), uri)) ? 1 : 2;
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
  // Only tasks take slots, so a call with a concurrency limit must not start before its task is created.
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
        ...(!isCounted && { head: startBeforeTask(upstream, call) }),
        ...(upstream.has('logging') && { listen: upstream.logs.listen }),
      };
    },
  };
}

function shown(entries: ReadonlyMap<string, Named>): JsonObject[] {
  return [...entries].map(([name, { listed }]) => ({ ...listed, name }));
}

/**
 * The entries by the names that clients see. A name that is unique and not reserved is kept. Others become
 * `OWNER_NAME`, with as many `_` at the end as make them unique.
 */
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

/** Keeps the first of several entries with the same value of `key`. */
function distinct(entries: readonly JsonObject[], key: string): JsonObject[] {
  return [...new Map(entries.toReversed().map((entry) => [entry[key], entry])).values()].reverse();
}

/** True if the template may match. Compares only the text before its first variable and after its last. */
function matches(template: string, uri: string): boolean {
  const first = template.indexOf('{');
  if (first < 0) return template === uri;
  return (
    uri.startsWith(template.slice(0, first)) && uri.endsWith(template.slice(template.lastIndexOf('}') + 1))
  );
}

/**
 * Drops `x-mcp-header`, which makes a client repeat an argument in an HTTP header. Only the gateway does that, towards
 * the upstream.
 */
function withoutHeaders(schema: unknown): JsonObject {
  if (!isJsonObject(schema)) return { type: 'object' };
  const { properties } = schema;
  if (!isJsonObject(properties)) return schema;
  const stripped = Object.entries(properties).map(([name, property]) => {
    if (!isJsonObject(property)) return [name, property] as const;
    const { 'x-mcp-header': _, ...rest } = property;
    return [name, rest] as const;
  });
  return { ...schema, properties: Object.fromEntries(stripped) };
}
