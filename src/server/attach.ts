/**
 * Durable tools on a server of the SDK, through its public seams only:
 *
 *   - `setRequestHandler` is overridden on the instance, so that `tools/call` passes by here first;
 *   - `connect` is overridden, so that the answer to a call that became a task leaves exactly as it was made: the SDK
 *     would add a `content` to it.
 *
 * Errors travel as objects with a `code`, which is all that the SDK asks of them; nothing of it is needed at run time.
 */
import type {
  McpServer,
  Server,
  ServerContext,
  StandardSchemaWithJSON,
  Transport,
} from '@modelcontextprotocol/server';
import { type Schema, toJsonSchema } from '../engine/schema.ts';
import type { DurableTool } from '../engine/tool.ts';
import { HoldfastError } from '../model/errors.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Progress } from '../model/task.ts';
import type { WireFault } from '../protocol/dialect.ts';
import { clientCapabilitiesKey, extension, serverInfoKey } from '../protocol/dialects/2026-07-28/names.ts';
import { invalidParams } from '../protocol/json-rpc.ts';
import type { Binding } from './binding.ts';
import type { Caller } from './caller.ts';
import { taskMethods } from './task-methods.ts';
import { RequestAborted } from './tool-calls.ts';

export class AttachedTooLate extends HoldfastError {
  constructor() {
    super(
      'This server already answers tools/call. Attach tasks to it before its first tool is registered, and do not declare capabilities.tools in its constructor.',
    );
  }
}

/** An error as the SDK puts it on the wire. */
class Fault extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: WireFault) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

type ToolsHandler = (request: { params?: JsonObject }, context: ServerContext) => unknown;

/** Adds the durable tools and the task methods to a server. A second time changes nothing. */
export function attach(binding: Binding, mcp: McpServer | Server): void {
  const server = 'server' in mcp ? mcp.server : mcp;
  if (attached.get(server) === binding) return;
  if (!answersNoToolsYet(server)) throw new AttachedTooLate();
  attached.set(server, binding);
  new Attachment(binding, server).install('server' in mcp ? mcp : undefined);
}

const attached = new WeakMap<Server, Binding>();

function answersNoToolsYet(server: Server): boolean {
  try {
    for (const method of ['tools/call', 'tools/list']) server.assertCanSetRequestHandler(method);
    return true;
  } catch {
    return false;
  }
}

class Attachment {
  readonly #binding: Binding;
  readonly #server: Server;
  /** Answers that leave as they are, by the id of their request. */
  readonly #exact = new Map<unknown, JsonObject>();
  /** States that calls came back with, by the id of their request. */
  readonly #states = new Map<unknown, unknown>();

  constructor(binding: Binding, server: Server) {
    this.#binding = binding;
    this.#server = server;
  }

  install(mcp: McpServer | undefined): void {
    const server = this.#server;
    server.registerCapabilities({ extensions: { [extension]: {} } });
    this.#decorateTools();
    this.#decorateAnswers();
    for (const [method, run] of Object.entries(taskMethods)) {
      const params = { '~standard': anything };
      server.setRequestHandler(method, { params }, (sent, context) =>
        this.#faulting(async () => {
          const { requests } = await this.#binding.served();
          return run(requests, this.#callerOf(context), {
            taskId: (sent as JsonObject).taskId,
            inputResponses: responsesOf(context),
          });
        }),
      );
    }
    if (mcp) for (const tool of this.#binding.tools) register(mcp, tool);
    else this.#listOnBareServer();
  }

  /** `tools/call` of a durable tool is ours; every other goes to whoever registered a handler. */
  #decorateTools(): void {
    const server = this.#server;
    const set = server.setRequestHandler.bind(server) as (...parameters: unknown[]) => void;
    const overridden = (method: string, ...rest: unknown[]) => {
      const [handler] = rest;
      if (method === 'tools/call' && typeof handler === 'function')
        set(method, this.#called(handler as ToolsHandler));
      else if (method === 'tools/list' && typeof handler === 'function' && this.#isBare)
        set(method, this.#listed(handler as ToolsHandler));
      else set(method, ...rest);
    };
    server.setRequestHandler = overridden as Server['setRequestHandler'];
  }

  #called(next: ToolsHandler): ToolsHandler {
    return (request, context) => {
      const { name, arguments: input } = request.params ?? {};
      const tool = this.#binding.tool(name);
      if (!tool) return next(request, context);
      return this.#faulting(() => this.#call(tool, input, context));
    };
  }

  async #call(tool: DurableTool, input: unknown, context: ServerContext): Promise<JsonObject> {
    const { mcpReq } = context;
    const requestState = this.#states.has(mcpReq.id) ? this.#states.get(mcpReq.id) : mcpReq.requestState();
    // Of a request that is aborted the SDK sends no answer that would take these along.
    mcpReq.signal.addEventListener('abort', () => this.#forget(mcpReq.id), { once: true });
    const reply = await this.#binding.call(
      tool,
      {
        arguments: input,
        inputResponses: responsesOf(context),
        requestState,
        meta: mcpReq._meta,
      },
      this.#callerOf(context),
      { signal: mcpReq.signal, ...progressOf(context) },
    );
    if (reply.resultType !== 'task') return reply;
    this.#exact.set(mcpReq.id, reply);
    return { content: [] };
  }

  #decorateAnswers(): void {
    const server = this.#server;
    const connect = server.connect.bind(server);
    server.connect = async (transport: Transport) => {
      const send = transport.send.bind(transport);
      transport.send = (message, options) => send(this.#corrected(message), options);
      await connect(transport);
      const receive = transport.onmessage;
      transport.onmessage = (message, extra) =>
        receive?.(this.#withoutState(withoutBadResponses(message)), extra);
    };
  }

  /** Our states are none of the author's, whose own check the SDK would put them to first. */
  #withoutState<M extends object>(message: M): M {
    if (!('id' in message) || !('params' in message) || !isJsonObject(message.params)) return message;
    const { requestState, ...params } = message.params;
    if (requestState === undefined || !('method' in message) || message.method !== 'tools/call')
      return message;
    if (!this.#binding.tool(params.name)) return message;
    this.#states.set(message.id, requestState);
    return { ...message, params };
  }

  #corrected<M extends object>(message: M): M {
    if ('id' in message && 'error' in message) this.#forget(message.id);
    if (!('id' in message) || !('result' in message) || !isJsonObject(message.result)) return message;
    const { _meta } = message.result;
    if (isJsonObject(_meta) && isJsonObject(_meta[serverInfoKey]))
      this.#binding.serverInfo ??= _meta[serverInfoKey];
    const exact = this.#exact.get(message.id);
    this.#forget(message.id);
    if (!exact) return message;
    return { ...message, result: { ...exact, ...(_meta !== undefined && { _meta }) } };
  }

  #forget(id: unknown): void {
    this.#exact.delete(id);
    this.#states.delete(id);
  }

  #callerOf({ mcpReq, http }: ServerContext): Caller {
    const credentials = http?.authInfo;
    if (!mcpReq.envelope) return this.#binding.callerWithoutTasks(credentials);
    const envelope = mcpReq.envelope as Readonly<Record<string, unknown>>;
    return this.#binding.caller(envelope[clientCapabilitiesKey], credentials);
  }

  async #faulting<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      // Nobody is there to be told; the SDK sends nothing for a request that was aborted.
      if (error instanceof RequestAborted) throw error;
      if (!(error instanceof HoldfastError)) this.#server.onerror?.(error as Error);
      throw new Fault(this.#binding.dialect.fault(error));
    }
  }

  // --- A bare `Server`, whose author writes the handlers --------------------------------------------------

  #isBare = false;

  #listOnBareServer(): void {
    this.#isBare = true;
    this.#server.registerCapabilities({ tools: {} });
    this.#server.setRequestHandler('tools/list', () => ({ tools: [] }));
    this.#server.setRequestHandler('tools/call', ({ params }) => {
      throw new Fault({ code: invalidParams, message: `Tool ${params.name} not found` });
    });
  }

  /** The durable tools follow the author's own, on the last page. */
  #listed(next: ToolsHandler): ToolsHandler {
    return async (request, context) => {
      const page = (await next(request, context)) as { tools: unknown[]; nextCursor?: string };
      if (page.nextCursor !== undefined) return page;
      return { ...page, tools: [...page.tools, ...[...this.#binding.tools].map(definition)] };
    };
  }
}

/** A schema that takes anything: what is wrong is said by the method itself. */
const anything: Schema<unknown, unknown>['~standard'] = {
  version: 1,
  vendor: 'holdfast',
  validate: (value) => ({ value }),
};

/** The SDK would make an empty object of them, and a caller be told that its answers were taken. */
function withoutBadResponses<M extends object>(message: M): M {
  if (!('params' in message) || !isJsonObject(message.params)) return message;
  const { inputResponses, ...params } = message.params;
  return inputResponses === undefined || isJsonObject(inputResponses) ? message : { ...message, params };
}

/** The SDK takes malformed answers out; they are put back, so that their sender hears what is wrong with them. */
function responsesOf({ mcpReq }: ServerContext): unknown {
  const { inputResponses, droppedInputResponseKeys = [] } = mcpReq;
  if (droppedInputResponseKeys.length === 0) return inputResponses;
  return { ...inputResponses, ...Object.fromEntries(droppedInputResponseKeys.map((key) => [key, null])) };
}

/** A caller that waits for the plain result, and gave a token for it, is told how far the work is. */
function progressOf({ mcpReq }: ServerContext): { onProgress?: (progress: Progress) => void } {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return {};
  let last = Number.NEGATIVE_INFINITY;
  return {
    onProgress: ({ done, total, message }) => {
      // It must grow with each notification, whatever a handler says.
      if (done <= last) return;
      last = done;
      const params = { progressToken, progress: done, ...(total !== undefined && { total }) };
      const said = { ...params, ...(message !== undefined && { message }) };
      void mcpReq.notify({ method: 'notifications/progress', params: said }).catch(() => {});
    },
  };
}

/** Ours and the SDK's describe the same Standard Schema. */
type ListedSchema = StandardSchemaWithJSON<Record<string, unknown>>;

function register(mcp: McpServer, tool: DurableTool): void {
  const { name, title, description, annotations, inputSchema, outputSchema } = tool;
  mcp.registerTool(
    name,
    {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(annotations && { annotations }),
      ...(inputSchema && { inputSchema: inputSchema as ListedSchema }),
      ...(outputSchema && { outputSchema: outputSchema as ListedSchema }),
    },
    () => {
      throw new Error(`The durable tool ${name} was called past its tasks.`);
    },
  );
}

function definition({ name, title, description, annotations, inputSchema, outputSchema }: DurableTool) {
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(annotations && { annotations }),
    inputSchema: inputSchema ? toJsonSchema(inputSchema, `The input of ${name}`) : { type: 'object' },
    ...(outputSchema && { outputSchema: toJsonSchema(outputSchema, `The output of ${name}`) }),
  };
}
