/**
 * What clients are shown: everything that the upstreams list and every command, under names of which none stands for
 * two things. Lists are put together when an upstream's have changed, so that showing them costs nothing.
 */
import type { DurableTool } from '../engine/tool.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Called } from '../server/binding.ts';
import { taskSupport, toolDefinition } from '../server/listings.ts';
import { headOf, relayToolFor } from './relay.ts';
import type { Upstream } from './upstream.ts';

/** Something of an upstream, and what the upstream calls it. */
export interface Found {
  readonly upstream: Upstream;
  readonly name: string;
}

interface Entry<T> {
  readonly owner: string;
  readonly name: string;
  readonly what: T;
}

type ToolEntry =
  | { readonly upstream: Upstream; readonly base: DurableTool; readonly listed: JsonObject }
  | { readonly command: DurableTool };

export class Catalogue {
  readonly #upstreams: ReadonlyMap<Upstream, DurableTool>;
  readonly #commands: readonly DurableTool[];
  readonly #reserved: readonly string[];
  #called = new Map<string, (input: unknown) => Called>();
  #prompts = new Map<string, Found>();
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
    const found = this.#called.get(name)?.(input);
    return found && { ...found, calledAs: name };
  }

  prompt(name: string): Found | undefined {
    return this.#prompts.get(name);
  }

  refresh(): void {
    const tools: Entry<ToolEntry>[] = this.#commands.map((command) => ({
      owner: 'command',
      name: command.name,
      what: { command },
    }));
    const prompts: Entry<{ readonly upstream: Upstream; readonly listed: JsonObject }>[] = [];
    for (const [upstream, base] of this.#upstreams) {
      for (const listed of upstream.listed.tools)
        tools.push({ owner: upstream.name, name: String(listed.name), what: { upstream, base, listed } });
      for (const listed of upstream.listed.prompts)
        prompts.push({ owner: upstream.name, name: String(listed.name), what: { upstream, listed } });
    }
    const called = new Map<string, (input: unknown) => Called>();
    this.tools = named(tools, this.#reserved).map(([name, { what }]) => {
      const [shown, call] = shownAndCalled(what);
      called.set(name, call);
      return { ...shown, name };
    });
    this.#called = called;
    const byName = named(prompts);
    this.prompts = byName.map(([name, { what }]) => ({ ...what.listed, name }));
    this.#prompts = new Map(
      byName.map(([shown, { name, what }]) => [shown, { upstream: what.upstream, name }]),
    );
    const upstreams = [...this.#upstreams.keys()];
    this.resources = distinct(
      upstreams.flatMap(({ listed }) => listed.resources),
      'uri',
    );
    this.resourceTemplates = distinct(
      upstreams.flatMap(({ listed }) => listed.resourceTemplates),
      'uriTemplate',
    );
  }

  /** Those that may have a resource, the likeliest first: who lists it, who has a template for its like, all others. */
  holdersOf(uri: string): Upstream[] {
    const upstreams = [...this.#upstreams.keys()].filter((upstream) => upstream.has('resources'));
    const rank = ({ listed }: Upstream) => {
      if (listed.resources.some((resource) => resource.uri === uri)) return 0;
      return listed.resourceTemplates.some(({ uriTemplate }) => fits(String(uriTemplate), uri)) ? 1 : 2;
    };
    return upstreams
      .map((one) => [rank(one), one] as const)
      .sort(([a], [b]) => a - b)
      .map(([, one]) => one);
  }
}

function shownAndCalled(what: ToolEntry): [JsonObject, (input: unknown) => Called] {
  if ('command' in what) {
    const { command } = what;
    return [toolDefinition(command) as unknown as JsonObject, (input) => ({ tool: command, input })];
  }
  const { upstream, base, listed } = what;
  const name = String(listed.name);
  const tool = relayToolFor(base, upstream, name);
  const isLimited = upstream.slots(name) !== undefined;
  // The engine counts the slots of limited tools, so nothing may start without it.
  const isCounted = isLimited || upstream.config.policy.concurrency !== undefined;
  const shown = {
    ...listed,
    inputSchema: withoutHeaders(listed.inputSchema),
    execution: { taskSupport: taskSupport[tool.task] },
  };
  return [
    shown,
    (input) => {
      const call = { name, arguments: isJsonObject(input) ? input : {}, ...(isLimited && { isLimited }) };
      return {
        tool,
        input: call,
        ...(!isCounted && { head: headOf(upstream, call) }),
        ...(upstream.has('logging') && { listen: upstream.logs.listen }),
      };
    },
  ];
}

/** Own names where they are unique; where they are not, with that of their upstream in front. */
function named<T>(
  entries: readonly Entry<T>[],
  reserved: readonly string[] = [],
): (readonly [string, Entry<T>])[] {
  const byName = Map.groupBy(entries, ({ name }) => name);
  const taken = new Set([
    ...reserved,
    ...[...byName].flatMap(([name, those]) => (those.length === 1 ? [name] : [])),
  ]);
  return entries.map((entry) => {
    const isUnique = byName.get(entry.name)!.length === 1 && !reserved.includes(entry.name);
    if (isUnique) return [entry.name, entry];
    let name = `${entry.owner}_${entry.name}`;
    while (taken.has(name)) name += '_';
    taken.add(name);
    return [name, entry];
  });
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
