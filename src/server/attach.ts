/** `tasks.attach(mcp)`: the durable tools and the task methods on a server of the SDK, beside whatever else it has. */
import type { McpServer, Server, ServerContext } from '@modelcontextprotocol/server';
import type { Schema } from '../engine/schema.ts';
import { HoldfastError } from '../model/errors.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { NotOffered } from '../protocol/dialects/2025-11-25/dialect.ts';
import { extension } from '../protocol/dialects/2026-07-28/names.ts';
import { InvalidParams } from '../protocol/errors.ts';
import { Attachment, responsesOf } from './attachment.ts';
import type { Binding } from './binding.ts';
import { taskList, taskResult } from './session-methods.ts';
import { taskMethods, updateMethods } from './task-methods.ts';
import { definition, register } from './tool-listing.ts';

export class AttachedTooLate extends HoldfastError {
  constructor() {
    super(
      'This server already answers tools/call. Attach tasks to it before its first tool is registered, and do not declare capabilities.tools in its constructor.',
    );
  }
}

type ToolsHandler = (request: { params?: JsonObject }, context: ServerContext) => unknown;

const attached = new WeakMap<Server, Binding>();

/** Adds the durable tools and the task methods to a server. A second time changes nothing. */
export function attach(binding: Binding, mcp: McpServer | Server): void {
  const server = 'server' in mcp ? mcp.server : mcp;
  if (attached.get(server) === binding) return;
  if (!answersNoToolsYet(server)) throw new AttachedTooLate();
  attached.set(server, binding);
  const attachment = new Attachment(binding, server);
  // One object serves both revisions: the SDK shows each what is its own.
  server.registerCapabilities({
    extensions: { [extension]: {} },
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  });
  const isBare = !('server' in mcp);
  decorateTools(attachment, server, binding, isBare);
  addMethods(attachment, server);
  if (!isBare) for (const tool of binding.tools) register(mcp, tool);
  else listOnBareServer(attachment, server);
}

function answersNoToolsYet(server: Server): boolean {
  try {
    for (const method of ['tools/call', 'tools/list']) server.assertCanSetRequestHandler(method);
    return true;
  } catch {
    return false;
  }
}

/** `tools/call` of a durable tool is ours; every other goes to whoever registered a handler. */
function decorateTools(attachment: Attachment, server: Server, binding: Binding, isBare: boolean): void {
  const set = server.setRequestHandler.bind(server) as (...parameters: unknown[]) => void;
  const called =
    (next: ToolsHandler): ToolsHandler =>
    (request, context) =>
      attachment.call(request.params ?? {}, context) ?? next(request, context);
  // The durable tools follow the author's own, on the last page.
  const listed =
    (next: ToolsHandler): ToolsHandler =>
    async (request, context) => {
      const page = (await next(request, context)) as { tools: unknown[]; nextCursor?: string };
      if (page.nextCursor !== undefined) return page;
      return { ...page, tools: [...page.tools, ...[...binding.tools].map(definition)] };
    };
  const overridden = (method: string, ...rest: unknown[]) => {
    const [handler] = rest;
    if (method === 'tools/call' && typeof handler === 'function')
      set(method, called(handler as ToolsHandler));
    else if (method === 'tools/list' && typeof handler === 'function' && isBare)
      set(method, listed(handler as ToolsHandler));
    else set(method, ...rest);
  };
  server.setRequestHandler = overridden as Server['setRequestHandler'];
}

/** Of a bare `Server` the author writes the handlers; until then there are no other tools. */
function listOnBareServer(attachment: Attachment, server: Server): void {
  server.registerCapabilities({ tools: {} });
  server.setRequestHandler('tools/list', () => ({ tools: [] }));
  server.setRequestHandler('tools/call', ({ params }, context) =>
    attachment.faulting(context, async () => {
      throw new InvalidParams(`Tool ${params.name} not found`);
    }),
  );
}

/** A schema that takes anything: what is wrong is said by the method itself. */
const anything: Schema<unknown, unknown>['~standard'] = {
  version: 1,
  vendor: 'holdfast',
  validate: (value) => ({ value }),
};

function addMethods(attachment: Attachment, server: Server): void {
  const add = (
    method: string,
    run: (params: JsonObject, context: ServerContext) => Promise<JsonObject>,
  ): void => {
    server.setRequestHandler(method, { params: { '~standard': anything } }, (params, context) =>
      attachment.faulting(context, () => run(isJsonObject(params) ? params : {}, context)),
    );
  };
  for (const [method, run] of Object.entries(taskMethods))
    add(method, async (params, context) => {
      const { requests } = await attachment.binding.served();
      const answer = await run(requests, attachment.callerOf(context), params);
      await attachment.interested(answer, context);
      return answer;
    });
  for (const [method, run] of Object.entries(updateMethods))
    add(method, async (params, context) => {
      if (!context.mcpReq.envelope) throw new NotOffered('Method not found');
      const { requests } = await attachment.binding.served();
      return run(requests, attachment.callerOf(context), { ...params, inputResponses: responsesOf(context) });
    });
  // These two exist on 2025-11-25 alone; for later requests the SDK says so.
  add('tasks/list', async (params, context) => {
    const { requests } = await attachment.binding.served();
    return taskList(requests, attachment.callerOf(context), params);
  });
  add('tasks/result', async (params, context) => {
    const { requests } = await attachment.binding.served();
    const connection = await attachment.connection();
    const channel = attachment.channelOf(context);
    return taskResult(requests, attachment.callerOf(context), params, {
      connection,
      channel,
      signal: context.mcpReq.signal,
    });
  });
}
