/** `tasks.attach(mcp)`: the durable tools and the task methods on a server of the SDK, beside whatever else it has. */
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
  const [kind] = method.split('/') as [string];
  return new InvalidOptions(
    'ATTACHED_TOO_LATE',
    `This server already answers ${method}. Attach tasks to it before its first ${kind.slice(0, -1)} is registered, and do not declare capabilities.${kind} in its constructor.`,
  );
}

type AnyHandler = (request: { params?: JsonObject }, context: ServerContext) => unknown;

const attached = new WeakMap<Server, TaskServer>();

/** Adds the durable tools, resources and prompts and the task methods to a server. A second time changes nothing. */
export function attach(binding: TaskServer, mcp: McpServer | Server, options: AttachOptions = {}): void {
  const server = 'server' in mcp ? mcp.server : mcp;
  if (attached.get(server) === binding) return;
  const settings = handOverSettings(options);
  const handingOver = settings && new PlainClients(binding, settings);
  const plainClients = handingOver?.areOfUse ? handingOver : undefined;
  const kinds = kindsOf(binding, plainClients);
  for (const { call, lists } of kinds)
    for (const method of [call, ...lists.map(({ method }) => method)])
      if (!isFree(server, method)) throw attachedTooLate(method);
  attached.set(server, binding);
  const attachment = new SdkAdapter(binding, server, plainClients);
  const { drafts } = binding;
  // One object serves all revisions: the SDK shows each what is its own.
  server.registerCapabilities({
    extensions: {
      [extension]: {},
      [idempotencyKey]: {},
      ...(drafts.has('sep-2268') && { [subtasksExtension]: {} }),
    },
    ...(drafts.size > 0 && { experimental: flagsOf(drafts) }),
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  });
  const isBare = !('server' in mcp);
  // An `McpServer` lists what is registered; the plain tools are not, because that costs more than a short call.
  const plainList: List[] = plainClients
    ? [{ method: 'tools/list', key: 'tools', entries: () => plainClients.definitions }]
    : [];
  decorate(attachment, server, isBare ? kinds.flatMap(({ lists }) => lists) : plainList);
  addMethods(attachment, server);
  if (isBare) for (const kind of kinds) answerOnBareServer(attachment, server, kind);
  else {
    for (const one of binding.tools) registerTool(mcp, one);
    for (const one of binding.resources) registerResource(mcp, one);
    for (const one of binding.prompts) registerPrompt(mcp, one);
    plainClients?.keepNames(mcp);
  }
}

/** A kind of thing that is durable here. */
interface Kind {
  readonly call: RequestMethod;
  readonly lists: readonly List[];
}

interface List {
  readonly method: string;
  /** Under which its answer shows the entries. */
  readonly key: string;
  readonly entries: () => readonly object[];
}

/** Tools always; the others are left alone if none of them is durable. */
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

function isFree(server: Server, method: string): boolean {
  try {
    server.assertCanSetRequestHandler(method);
    return true;
  } catch {
    return false;
  }
}

type Page = Record<string, object[]> & { readonly nextCursor?: string };

/** Requests for what is durable are ours; every other goes to whoever registered a handler. */
function decorate(attachment: SdkAdapter, server: Server, lists: readonly List[]): void {
  const { plainClients } = attachment;
  const set = server.setRequestHandler.bind(server) as (...parameters: unknown[]) => void;
  const decorated = (method: string, next: AnyHandler): AnyHandler => {
    if (isRequestMethod(method))
      return (request, context) =>
        attachment.call(method, request.params ?? {}, context) ?? next(request, context);
    const list = lists.find((one) => one.method === method);
    const shaping = method === 'tools/list' ? plainClients : undefined;
    if (!list && !shaping) return next;
    return async (request, context) => {
      const page = (await next(request, context)) as Page;
      shaping?.checkNames(page.tools as { name: string }[]);
      // What is durable follows the author's own, on the last page.
      const isLast = list && page.nextCursor === undefined;
      const whole = isLast ? { ...page, [list.key]: [...page[list.key]!, ...list.entries()] } : page;
      return shaping?.shaped(whole as JsonObject, attachment.callerOf(context, method), context) ?? whole;
    };
  };
  const overridden = (method: string, handler: unknown, ...rest: unknown[]) =>
    set(method, typeof handler === 'function' ? decorated(method, handler as AnyHandler) : handler, ...rest);
  server.setRequestHandler = overridden as Server['setRequestHandler'];
}

function isRequestMethod(method: string): method is RequestMethod {
  return method === 'tools/call' || method === 'resources/read' || method === 'prompts/get';
}

/** Of a bare `Server` the author writes the handlers; until then there is nothing but what is durable. */
function answerOnBareServer(attachment: SdkAdapter, server: Server, { call, lists }: Kind): void {
  const [capability] = call.split('/') as [string];
  server.registerCapabilities({ [capability]: {} });
  const set = server.setRequestHandler.bind(server) as (method: string, handler: AnyHandler) => void;
  for (const { method, key } of lists) set(method, () => ({ [key]: [] }));
  set(call, ({ params = {} }, context) =>
    attachment.faulting(context, async () => {
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

/** Which of them a request may use is a matter of its dialect; of some the SDK itself knows that they are not there. */
function addMethods(attachment: SdkAdapter, server: Server): void {
  for (const method of taskMethods) {
    const draft = draftOf[method];
    if (draft && !attachment.binding.drafts.has(draft)) continue;
    server.setRequestHandler(method, { params: anything }, (params, context) =>
      attachment.faulting(context, () =>
        attachment.answer(method, isJsonObject(params) ? params : {}, context),
      ),
    );
  }
}
