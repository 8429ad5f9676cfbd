/**
 * Clients that know no tasks, on a server that hands their calls over: who they are, which tools they are shown, and the
 * tools that they continue with.
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

/** Mistakes that a model can correct. */
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
  readonly #binding: TaskServer;
  readonly #settings: HandOverSettings;
  readonly #tools: ReadonlyMap<string, PlainTool>;

  constructor(binding: TaskServer, settings: HandOverSettings) {
    this.#binding = binding;
    this.#settings = settings;
    this.#tools = new Map(plainToolsOf(settings.names).map((tool) => [tool.name, tool]));
    this.checkNames(binding.tools);
  }

  /** Whether there is, or may be, a tool whose calls are handed over. */
  get areOfUse(): boolean {
    return !this.#binding.hasFixedTools || [...this.#binding.tools].some((tool) => this.#canHandOver(tool));
  }

  /** How a call is handed over, if its caller knows no tasks. */
  handingOver({ tool }: Called, received: Received): Pick<OpenRequest, 'handOver'> {
    const { caller, context, streams } = received;
    if (!this.#canHandOver(tool) || !this.#has(caller, context)) return {};
    const fate = streams.deliveries.of(context);
    return {
      handOver: {
        ...this.#request(received),
        fate,
        atOnce: tool.task === 'required',
        ...leaving(context, fate),
        keepMs: this.#settings.keepDeliveredMs,
      },
    };
  }

  #canHandOver({ method, task }: DurableTool): boolean {
    if (method !== 'tools/call' || task === 'never') return false;
    return task !== 'required' || this.#settings.required;
  }

  #request({ caller, context, streams }: Received): PlainRequest {
    const { clock } = this.#binding.tasks;
    const { windowMs, windowWithProgressMs } = this.#settings;
    const hasProgress = context.mcpReq._meta?.progressToken !== undefined;
    const arrivedAt = exchangeOf(context.http?.req)?.arrivedAt ?? clock.monotonic();
    const plain = this.#spokenTo(caller);
    const asksOnStream = !context.mcpReq.envelope && caller.dialect.pushesQuestions;
    return {
      caller: plain,
      leftMs: () => arrivedAt + (hasProgress ? windowWithProgressMs : windowMs) - clock.monotonic(),
      ...(asksOnStream && {
        askOnStream: async (id) => (await streams.connection()).ask(id, plain, streams.of(context)),
      }),
    };
  }

  /** Is it a client that gets results, and continues with plain tools where that takes too long? */
  #has({ sender, dialect }: Caller, { mcpReq }: ServerContext): boolean {
    if (sender.takesTasks || dialect.callerNamesTasks) return false;
    return mcpReq.envelope !== undefined || this.#settings.earlierRevisions;
  }

  /** The caller, as one that knows tasks by the plain tools alone: neither subtasks nor tasks of its own. */
  #spokenTo({ sender, dialect, ...caller }: Caller): Caller {
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
    const { requests } = await this.#binding.served();
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
      // Models read error results, and hosts show them; protocol errors may end the conversation.
      if (hasCode(error, ...forModels)) return errorResult(error.message);
      throw error;
    }
  }

  // --- Lists ----------------------------------------------------------------------------------------------

  /** Refuses other tools of the same names. */
  checkNames(tools: Iterable<{ readonly name: string }>): void {
    for (const { name } of tools) if (this.#tools.has(name)) throw toolNameTaken(name);
  }

  /** … when they are registered. */
  keepNames(mcp: McpServer): void {
    const registerTool = mcp.registerTool.bind(mcp) as (name: string, ...rest: unknown[]) => unknown;
    const checked = (name: string, ...rest: unknown[]) => {
      this.checkNames([{ name }]);
      return registerTool(name, ...rest);
    };
    mcp.registerTool = checked as McpServer['registerTool'];
  }

  /** As entries of a list. */
  get definitions(): object[] {
    return [...this.#tools.values()].map(({ run: _, ...listed }) => ({
      ...listed,
      execution: { taskSupport: 'forbidden' },
    }));
  }

  /** A page of the list of tools, as a plain client sees it or as all others do. */
  shaped(page: JsonObject, caller: Caller, context: ServerContext): JsonObject {
    const listed = page.tools as readonly Listed[];
    const isPlain = this.#has(caller, context);
    const isOfUse =
      isPlain && (this.#binding.hasFixedTools || listed.some((tool) => this.#mayHandOver(tool)));
    const tools = isOfUse ? listed : listed.filter(({ name }) => !this.#tools.has(name));
    return { ...page, tools: isPlain ? tools.map((tool) => this.#withoutPromises(tool)) : tools };
  }

  /** Strict clients refuse structured content that does not fit the output schema, as that of a hand-over. */
  #withoutPromises(listed: Listed): Listed {
    if (!this.#mayHandOver(listed)) return listed;
    const { outputSchema: _, execution, ...rest } = listed;
    return { ...rest, ...(execution !== undefined && { execution: { taskSupport: 'optional' } }) };
  }

  #mayHandOver({ name }: Listed): boolean {
    const tool = this.#binding.tool(name);
    return tool !== undefined && this.#canHandOver(tool);
  }
}

/** Nobody waits for an answer that was lost or cancelled on its way. */
function leaving({ mcpReq, http }: ServerContext, fate: Promise<Fate>): Pick<HandOver, 'gone' | 'isLost'> {
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
