/** `tasks.attach(mcp)` adds the durable tools and the task methods to an SDK server that may have others of its own. */
import type { McpServer, Server, ServerContext } from '@modelcontextprotocol/server';
import { extension, idempotencyKey } from '../../dialects/2026-07-28/names.ts';
import { subtasksExtension } from '../../dialects/collapse.ts';
import type { TaskMethodName } from '../../dialects/dialect.ts';
import { type Draft, flagsOf } from '../../dialects/drafts/flags.ts';
import { InvalidParams } from '../../dialects/errors.ts';
import type { RequestMethod } from '../../engine/handlers/tool.ts';
import { InvalidOptions } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { taskMethods } from '../../task-methods/task-methods.ts';
import { type AttachOptions, handOverSettings } from '../hand-over/options.ts';
import { PlainClients } from '../hand-over/plain-clients.ts';
import type { TaskServer } from '../task-server.ts';
import {
  promptDefinition,
  registerPrompt,
  registerResource,
  registerTool,
  resourceDefinition,
  toolDefinition,
} from './listings.ts';
import { SdkAdapter } from './sdk-adapter.ts';
import { anything } from './streams.ts';

function attachedTooLate(method: string): InvalidOptions {
  // `tools`, `resources` or `prompts`.
  const [kind] = method.split('/') as [string];
  return new InvalidOptions(
    'ATTACHED_TOO_LATE',
    `This server already answers ${method}. Attach tasks to it before its first ${kind.slice(0, -1)} is registered, and do not declare capabilities.${kind} in its constructor.`,
  );
}

type AnyHandler = (request: { params?: JsonObject }, context: ServerContext) => unknown;

/** The SDK servers that already have durable tools. */
const attached = new WeakMap<Server, TaskServer>();

/** Adds the durable tools, resources and prompts and the task methods to a server. A second call has no effect. */
export function attach(taskServer: TaskServer, mcp: McpServer | Server, options: AttachOptions = {}): void {
  const server = 'server' in mcp ? mcp.server : mcp;
  if (attached.get(server) === taskServer) return;
  const settings = handOverSettings(options);
  const handingOver = settings && new PlainClients(taskServer, settings);
  const plainClients = handingOver?.isNeeded ? handingOver : undefined;
  const kinds = kindsOf(taskServer, plainClients);
  for (const { call, lists } of kinds)
    for (const method of [call, ...lists.map(({ method }) => method)])
      if (!isFree(server, method)) throw attachedTooLate(method);
  attached.set(server, taskServer);
  const adapter = new SdkAdapter(taskServer, server, plainClients);
  const { drafts } = taskServer;
  // One object serves all revisions: the SDK sends each its own part.
  server.registerCapabilities({
    extensions: {
      [extension]: {},
      [idempotencyKey]: {},
      ...(drafts.has('sep-2268') && { [subtasksExtension]: {} }),
    },
    ...(drafts.size > 0 && { experimental: flagsOf(drafts) }),
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  });
  // True for a `Server` without an `McpServer` around it, which keeps no lists of its own.
  const isBare = !('server' in mcp);
  // The plain tools are not registered on an `McpServer`, because that takes longer than a short call. Add them to its
  // list.
  const plainList: List[] = plainClients
    ? [{ method: 'tools/list', key: 'tools', entries: () => plainClients.definitions }]
    : [];
  decorate(adapter, server, isBare ? kinds.flatMap(({ lists }) => lists) : plainList);
  addMethods(adapter, server);
  if (isBare) for (const kind of kinds) answerOnBareServer(adapter, server, kind);
  else {
    for (const one of taskServer.tools) registerTool(mcp, one);
    for (const one of taskServer.resources) registerResource(mcp, one);
    for (const one of taskServer.prompts) registerPrompt(mcp, one);
    plainClients?.reserveNames(mcp);
  }
}

/** Tools, resources or prompts: the method to call one, and the methods to list them. */
interface Kind {
  readonly call: RequestMethod;
  readonly lists: readonly List[];
}

interface List {
  readonly method: string;
  /** The key of the entries in the answer. */
  readonly key: string;
  readonly entries: () => readonly object[];
}

/** Always includes tools; resources and prompts only if there are durable ones. */
function kindsOf({ tools, resources, prompts }: TaskServer, plainClients: PlainClients | undefined): Kind[] {
  const list = (method: string, key: string, entries: List['entries']): List => ({ method, key, entries });
  const ofTools = () => [...[...tools].map(toolDefinition), ...(plainClients?.definitions ?? [])];
  const ofResources = (isTemplate: boolean) => () =>
    resources.filter((one) => one.isTemplate === isTemplate).map(resourceDefinition);
  const kinds: Kind[] = [{ call: 'tools/call', lists: [list('tools/list', 'tools', ofTools)] }];
  const lists = [
    list('resources/list', 'resources', ofResources(false)),
    list('resources/templates/list', 'resourceTemplates', ofResources(true)),
  ];
  if (resources.length > 0) kinds.push({ call: 'resources/read', lists });
  const ofPrompts = list('prompts/list', 'prompts', () => prompts.map(promptDefinition));
  if (prompts.length > 0) kinds.push({ call: 'prompts/get', lists: [ofPrompts] });
  return kinds;
}

/** True if the server has no handler for a method yet. */
function isFree(server: Server, method: string): boolean {
  try {
    server.assertCanSetRequestHandler(method);
    return true;
  } catch {
    return false;
  }
}

type Page = Record<string, object[]> & { readonly nextCursor?: string };

/**
 * Wraps all handlers that are set later. Requests for durable tools, resources and prompts are answered here; all
 * others go to the author's handlers. Lists also contain the durable entries.
 */
function decorate(adapter: SdkAdapter, server: Server, lists: readonly List[]): void {
  const { plainClients } = adapter;
  const set = server.setRequestHandler.bind(server) as (...parameters: unknown[]) => void;
  const decorated = (method: string, next: AnyHandler): AnyHandler => {
    if (isRequestMethod(method))
      return (request, context) =>
        adapter.call(method, request.params ?? {}, context) ?? next(request, context);
    const list = lists.find((one) => one.method === method);
    const shaping = method === 'tools/list' ? plainClients : undefined;
    if (!list && !shaping) return next;
    return async (request, context) => {
      const page = (await next(request, context)) as Page;
      shaping?.checkNames(page.tools as { name: string }[]);
      // Durable entries follow the author's own on the last page.
      const isLast = list && page.nextCursor === undefined;
      const whole = isLast ? { ...page, [list.key]: [...page[list.key]!, ...list.entries()] } : page;
      return shaping?.adapted(whole as JsonObject, adapter.callerOf(context, method), context) ?? whole;
    };
  };
  const overridden = (method: string, handler: unknown, ...rest: unknown[]) =>
    set(method, typeof handler === 'function' ? decorated(method, handler as AnyHandler) : handler, ...rest);
  server.setRequestHandler = overridden as Server['setRequestHandler'];
}

function isRequestMethod(method: string): method is RequestMethod {
  return method === 'tools/call' || method === 'resources/read' || method === 'prompts/get';
}

/** A bare `Server` has no handlers until the author sets them. Until then it serves only what is durable. */
function answerOnBareServer(adapter: SdkAdapter, server: Server, { call, lists }: Kind): void {
  const [capability] = call.split('/') as [string];
  server.registerCapabilities({ [capability]: {} });
  const set = server.setRequestHandler.bind(server) as (method: string, handler: AnyHandler) => void;
  for (const { method, key } of lists) set(method, () => ({ [key]: [] }));
  set(call, ({ params = {} }, context) =>
    adapter.faulting(context, async () => {
      throw new InvalidParams(`${named[call]} ${params.uri ?? params.name} not found`);
    }),
  );
}

const named: Record<RequestMethod, string> = {
  'tools/call': 'Tool',
  'resources/read': 'Resource',
  'prompts/get': 'Prompt',
};

/** Methods that only a draft has. */
const draftOf: Partial<Record<TaskMethodName, Draft>> = {
  'tasks/continue': 'sep-2339',
  'tasks/delete': 'sep-1686',
};

/** Adds the task methods. The dialect of a request decides which of them it may use. */
function addMethods(adapter: SdkAdapter, server: Server): void {
  for (const method of taskMethods) {
    const draft = draftOf[method];
    if (draft && !adapter.taskServer.drafts.has(draft)) continue;
    server.setRequestHandler(method, { params: anything }, (params, context) =>
      adapter.faulting(context, () => adapter.answer(method, isJsonObject(params) ? params : {}, context)),
    );
  }
}
