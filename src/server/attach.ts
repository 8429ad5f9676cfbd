/** `tasks.attach(mcp)`: the durable tools and the task methods on a server of the SDK, beside whatever else it has. */
import type { McpServer, Server, ServerContext } from '@modelcontextprotocol/server';
import type { RequestMethod } from '../engine/tool.ts';
import { taskMethods } from '../hosting/task-methods.ts';
import { InvalidOptions } from '../model/errors.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { subtasksExtension } from '../protocol/collapse.ts';
import type { TaskMethodName } from '../protocol/dialect.ts';
import { extension, idempotencyKey } from '../protocol/dialects/2026-07-28/names.ts';
import { type Draft, flagsOf } from '../protocol/dialects/drafts/flags.ts';
import { InvalidParams } from '../protocol/errors.ts';
import { Attachment } from './attachment.ts';
import type { Binding } from './binding.ts';
import { type AttachOptions, handOverSettings } from './hand-over/options.ts';
import { PlainClients } from './hand-over/plain-clients.ts';
import {
  promptDefinition,
  registerPrompt,
  registerResource,
  registerTool,
  resourceDefinition,
  toolDefinition,
} from './listings.ts';
import { anything } from './streams.ts';

function attachedTooLate(method: string): InvalidOptions {
  const [kind] = method.split('/') as [string];
  return new InvalidOptions(
    'ATTACHED_TOO_LATE',
    `This server already answers ${method}. Attach tasks to it before its first ${kind.slice(0, -1)} is registered, and do not declare capabilities.${kind} in its constructor.`,
  );
}

type AnyHandler = (request: { params?: JsonObject }, context: ServerContext) => unknown;

const attached = new WeakMap<Server, Binding>();

/** Adds the durable tools, resources and prompts and the task methods to a server. A second time changes nothing. */
export function attach(binding: Binding, mcp: McpServer | Server, options: AttachOptions = {}): void {
  const server = 'server' in mcp ? mcp.server : mcp;
  if (attached.get(server) === binding) return;
  const settings = handOverSettings(options);
  const handingOver = settings && new PlainClients(binding, settings);
  const plainClients = handingOver?.areOfUse ? handingOver : undefined;
  const served = servedBy(binding, plainClients);
  for (const { call, lists } of served)
    for (const method of [call, ...lists.map(({ method }) => method)])
      if (!isFree(server, method)) throw attachedTooLate(method);
  attached.set(server, binding);
  const attachment = new Attachment(binding, server, plainClients);
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
  const plainList = plainClients && {
    method: 'tools/list',
    key: 'tools',
    entries: () => plainClients.definitions,
  };
  decorate(attachment, server, isBare ? served.flatMap(({ lists }) => lists) : plainList ? [plainList] : []);
  addMethods(attachment, server);
  if (isBare) for (const kind of served) answerOnBareServer(attachment, server, kind);
  else {
    for (const one of binding.tools) registerTool(mcp, one);
    for (const one of binding.resources) registerResource(mcp, one);
    for (const one of binding.prompts) registerPrompt(mcp, one);
    plainClients?.keepNames(mcp);
  }
}

/** A kind of thing that is durable here. */
interface Kind {
  readonly capability: 'tools' | 'resources' | 'prompts';
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
function servedBy({ tools, resources, prompts }: Binding, plainClients: PlainClients | undefined): Kind[] {
  const list = (method: string, key: string, entries: () => readonly object[]) => ({ method, key, entries });
  const ofTools = () => [...[...tools].map(toolDefinition), ...(plainClients?.definitions ?? [])];
  const ofResources = (isTemplate: boolean) => () =>
    resources.filter((one) => one.isTemplate === isTemplate).map(resourceDefinition);
  const kinds: Kind[] = [
    { capability: 'tools', call: 'tools/call', lists: [list('tools/list', 'tools', ofTools)] },
    {
      capability: 'resources',
      call: 'resources/read',
      lists: [
        list('resources/list', 'resources', ofResources(false)),
        list('resources/templates/list', 'resourceTemplates', ofResources(true)),
      ],
    },
    {
      capability: 'prompts',
      call: 'prompts/get',
      lists: [list('prompts/list', 'prompts', () => prompts.map(promptDefinition))],
    },
  ];
  const isServed = { tools: true, resources: resources.length > 0, prompts: prompts.length > 0 };
  return kinds.filter(({ capability }) => isServed[capability]);
}

function isFree(server: Server, method: string): boolean {
  try {
    server.assertCanSetRequestHandler(method);
    return true;
  } catch {
    return false;
  }
}

/** Requests for what is durable are ours; every other goes to whoever registered a handler. */
function decorate(attachment: Attachment, server: Server, lists: readonly List[]): void {
  const { plainClients } = attachment;
  const set = server.setRequestHandler.bind(server) as (...parameters: unknown[]) => void;
  const called =
    (method: RequestMethod, next: AnyHandler): AnyHandler =>
    (request, context) =>
      attachment.call(method, request.params ?? {}, context) ?? next(request, context);
  // What is durable follows the author's own, on the last page.
  const completed =
    ({ key, entries }: List, next: AnyHandler): AnyHandler =>
    async (request, context) => {
      const page = (await next(request, context)) as Record<string, unknown[]> & { nextCursor?: string };
      if (key === 'tools') plainClients?.checkNames(page[key] as { name: string }[]);
      if (page.nextCursor !== undefined) return page;
      return { ...page, [key]: [...page[key]!, ...entries()] };
    };
  const shaped =
    (next: AnyHandler): AnyHandler =>
    async (request, context) => {
      const page = (await next(request, context)) as JsonObject;
      return plainClients!.shaped(page, attachment.callerOf(context, 'tools/list'), context);
    };
  const overridden = (method: string, ...rest: unknown[]) => {
    const [handler] = rest;
    const list = lists.find((one) => one.method === method);
    if (typeof handler !== 'function') return set(method, ...rest);
    if (isRequestMethod(method)) return set(method, called(method, handler as AnyHandler));
    const whole = list ? completed(list, handler as AnyHandler) : (handler as AnyHandler);
    set(method, plainClients && method === 'tools/list' ? shaped(whole) : whole, ...rest.slice(1));
  };
  server.setRequestHandler = overridden as Server['setRequestHandler'];
}

function isRequestMethod(method: string): method is RequestMethod {
  return method === 'tools/call' || method === 'resources/read' || method === 'prompts/get';
}

/** Of a bare `Server` the author writes the handlers; until then there is nothing but what is durable. */
function answerOnBareServer(attachment: Attachment, server: Server, { capability, call, lists }: Kind): void {
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
function addMethods(attachment: Attachment, server: Server): void {
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
