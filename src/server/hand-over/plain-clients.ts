/**
 * Plain clients, which do not support tasks, on a server that hands their calls over: how to detect them, which tools
 * to list for them, and the plain tools that they continue with.
 */
import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import { plainTools } from '../../dialects/plain-tools/dialect.ts';
import type { DurableTool } from '../../engine/handlers/tool.ts';
import { hasCode } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { exchangeOf, type Fate } from '../calls/deliveries.ts';
import { errorResult, type OpenRequest, progressOf, responsesOf } from '../calls/tool-call.ts';
import type { Streams } from '../sdk/streams.ts';
import type { Called, TaskServer } from '../task-server.ts';
import { type HandOverSettings, toolNameTaken } from './options.ts';
import { type PlainTool, plainToolsOf } from './tools.ts';
import type { HandOver, PlainRequest } from './waiting.ts';

/** Codes of errors that a model can correct. They become error results. */
const forModels = ['TASK_NOT_FOUND', 'TASK_IS_DONE', 'BAD_ANSWER', 'INVALID_PARAMS'] as const;

/** A request of a client, and the streams of its connection. */
export interface Received {
  readonly caller: Caller;
  readonly context: ServerContext;
  readonly streams: Streams;
}

/** An entry of `tools/list`. */
type Listed = JsonObject & { readonly name: string };

export class PlainClients {
  readonly #taskServer: TaskServer;
  readonly #settings: HandOverSettings;
  readonly #tools: ReadonlyMap<string, PlainTool>;

  constructor(taskServer: TaskServer, settings: HandOverSettings) {
    this.#taskServer = taskServer;
    this.#settings = settings;
    this.#tools = new Map(plainToolsOf(settings.names).map((tool) => [tool.name, tool]));
    this.checkNames(taskServer.tools);
  }

  /** Whether the server has, or may get, a tool whose calls are handed over. */
  get isNeeded(): boolean {
    return (
      !this.#taskServer.hasFixedTools || [...this.#taskServer.tools].some((tool) => this.#canHandOver(tool))
    );
  }

  /** How a call is handed over; empty if it cannot be, or its caller is not a plain client. */
  handOverFor({ tool }: Called, received: Received): Pick<OpenRequest, 'handOver'> {
    const { caller, context, streams } = received;
    if (!this.#canHandOver(tool) || !this.#isPlain(caller, context)) return {};
    const fate = streams.deliveries.of(context);
    return {
      handOver: {
        ...this.#request(received),
        fate,
        atOnce: tool.task === 'required',
        ...goneSignals(context, fate),
        keepMs: this.#settings.keepDeliveredMs,
      },
    };
  }

  #canHandOver({ method, task }: DurableTool): boolean {
    if (method !== 'tools/call' || task === 'never') return false;
    return task !== 'required' || this.#settings.required;
  }

  #request({ caller, context, streams }: Received): PlainRequest {
    const { clock } = this.#taskServer.tasks;
    const { windowMs, windowWithProgressMs } = this.#settings;
    const hasProgress = context.mcpReq._meta?.progressToken !== undefined;
    const arrivedAt = exchangeOf(context.http?.req)?.arrivedAt ?? clock.monotonic();
    const plain = this.#plainCaller(caller);
    const asksOnStream = !context.mcpReq.envelope && caller.dialect.pushesQuestions;
    return {
      caller: plain,
      leftMs: () => arrivedAt + (hasProgress ? windowWithProgressMs : windowMs) - clock.monotonic(),
      ...(asksOnStream && {
        askOnStream: async (id) => (await streams.connection()).ask(id, plain, streams.of(context)),
      }),
    };
  }

  /** True if the caller is a plain client. Earlier revisions (no envelope) count only if the option includes them. */
  #isPlain({ sender, dialect }: Caller, { mcpReq }: ServerContext): boolean {
    if (sender.takesTasks || dialect.callerNamesTasks) return false;
    return mcpReq.envelope !== undefined || this.#settings.earlierRevisions;
  }

  /** The caller with the dialect of the plain tools, which has neither subtasks nor tasks of the client. */
  #plainCaller({ sender, dialect, ...caller }: Caller): Caller {
    const { answers } = sender;
    return {
      ...caller,
      dialect: plainTools(this.#settings.names, dialect, answers),
      sender: { takesTasks: false, answers },
    };
  }

  // --- The plain tools ------------------------------------------------------------------------------------

  tool(name: unknown): PlainTool | undefined {
    return typeof name === 'string' ? this.#tools.get(name) : undefined;
  }

  async call(tool: PlainTool, params: JsonObject, received: Received): Promise<JsonObject> {
    const { context } = received;
    const { requests } = await this.#taskServer.served();
    const input = params.arguments;
    const inputResponses = responsesOf(context, params);
    try {
      return await tool.run({
        ...this.#request(received),
        requests,
        input: isJsonObject(input) ? input : {},
        signal: context.mcpReq.signal,
        ...progressOf(context),
        ...(isJsonObject(inputResponses) && { inputResponses }),
      });
    } catch (error) {
      // A model can read an error result, but a protocol error may end its conversation.
      if (hasCode(error, ...forModels)) return errorResult(error.message);
      throw error;
    }
  }

  // --- Lists ----------------------------------------------------------------------------------------------

  /** Refuses other tools with the names of plain tools. */
  checkNames(tools: Iterable<{ readonly name: string }>): void {
    for (const { name } of tools) if (this.#tools.has(name)) throw toolNameTaken(name);
  }

  /** Also refuses such names when a tool is registered later. */
  reserveNames(mcp: McpServer): void {
    const registerTool = mcp.registerTool.bind(mcp) as (name: string, ...rest: unknown[]) => unknown;
    const checked = (name: string, ...rest: unknown[]) => {
      this.checkNames([{ name }]);
      return registerTool(name, ...rest);
    };
    mcp.registerTool = checked as McpServer['registerTool'];
  }

  /** The plain tools as entries of `tools/list`. */
  get definitions(): object[] {
    return [...this.#tools.values()].map(({ run: _, ...listed }) => ({
      ...listed,
      execution: { taskSupport: 'forbidden' },
    }));
  }

  /** A page of `tools/list` for this caller. Only plain clients see the plain tools. */
  adapted(page: JsonObject, caller: Caller, context: ServerContext): JsonObject {
    const listed = page.tools as readonly Listed[];
    const isPlain = this.#isPlain(caller, context);
    const showsPlainTools =
      isPlain && (this.#taskServer.hasFixedTools || listed.some((tool) => this.#mayHandOver(tool)));
    const tools = showsPlainTools ? listed : listed.filter(({ name }) => !this.#tools.has(name));
    return { ...page, tools: isPlain ? tools.map((tool) => this.#withoutOutputSchema(tool)) : tools };
  }

  /**
   * Removes the output schema: strict clients refuse structured content that does not match it, such as a hand-over.
   * Task support becomes optional, because a plain client can call even a tool that requires a task.
   */
  #withoutOutputSchema(listed: Listed): Listed {
    if (!this.#mayHandOver(listed)) return listed;
    const { outputSchema: _, execution, ...rest } = listed;
    return { ...rest, ...(execution !== undefined && { execution: { taskSupport: 'optional' } }) };
  }

  #mayHandOver({ name }: Listed): boolean {
    const tool = this.#taskServer.tool(name);
    return tool !== undefined && this.#canHandOver(tool);
  }
}

/** Detects that the client no longer waits for the answer: it was lost, or the request was cancelled. */
function goneSignals(
  { mcpReq, http }: ServerContext,
  fate: Promise<Fate>,
): Pick<HandOver, 'gone' | 'isLost'> {
  // On 2026-07-28 a client cancels a call by closing its stream. On stdio it sends `notifications/cancelled`.
  if (mcpReq.envelope && http) return { gone: mcpReq.signal, isLost: () => false };
  const gone = new AbortController();
  let found: Fate | undefined;
  void fate.then((one) => {
    found = one;
    if (one !== 'delivered') gone.abort();
  });
  return { gone: gone.signal, isLost: () => found === 'lost' };
}
