/**
 * Clients that know no tasks, on a server that hands their calls over: who they are, what they are listed, and the
 * tools that they go on with.
 */
import type { McpServer, ServerContext, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { Caller } from '../../hosting/caller.ts';
import { BadAnswer, TaskNotFound } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { TaskId } from '../../model/task.ts';
import { plainTools } from '../../protocol/dialects/plain-tools/dialect.ts';
import { InvalidParams } from '../../protocol/errors.ts';
import type { Binding, Called } from '../binding.ts';
import type { Streams } from '../streams.ts';
import { errorResult, type OpenRequest } from '../tool-calls.ts';
import { type HandOverSettings, ToolNameTaken } from './options.ts';
import { type PlainTool, plainToolsOf } from './tools.ts';

/** An entry of `tools/list`. */
type Listed = JsonObject & { readonly name: string };

export class PlainClients {
  readonly #binding: Binding;
  readonly #settings: HandOverSettings;
  readonly #tools: ReadonlyMap<string, PlainTool>;

  constructor(binding: Binding, settings: HandOverSettings) {
    this.#binding = binding;
    this.#settings = settings;
    this.#tools = new Map(plainToolsOf(settings.names, settings.windowMs).map((tool) => [tool.name, tool]));
    for (const { name } of binding.tools) if (this.#tools.has(name)) throw new ToolNameTaken(name);
  }

  /** How a call is handed over, if its caller knows no tasks. What never becomes a task never is. */
  handingOver(
    { tool }: Called,
    caller: Caller,
    context: ServerContext,
    streams: Streams,
  ): Pick<OpenRequest, 'handOver'> {
    if (tool.method !== 'tools/call' || tool.task === 'never' || !this.#has(caller, context)) return {};
    const asksOnStream = !context.mcpReq.envelope && caller.dialect.pushesQuestions;
    const plain = this.#spokenTo(caller);
    return {
      handOver: {
        windowMs: this.#settings.windowMs,
        caller: plain,
        ...(asksOnStream && { askOnStream: (id) => askOnStream(id, plain, context, streams) }),
      },
    };
  }

  /** Is it a client that gets results, and goes on with plain tools where that takes too long? */
  #has({ sender, dialect }: Caller, { mcpReq }: ServerContext): boolean {
    if (sender.takesTasks || dialect.requestorNamesTasks) return false;
    return mcpReq.envelope !== undefined || this.#settings.earlierRevisions;
  }

  /** The caller, as one that knows tasks by the plain tools alone: neither subtasks nor tasks of its own. */
  #spokenTo({ sender, dialect, ...caller }: Caller): Caller {
    return {
      ...caller,
      dialect: plainTools(this.#settings.names, dialect),
      sender: { takesTasks: false, answers: sender.answers },
    };
  }

  // --- The plain tools ------------------------------------------------------------------------------------

  tool(name: unknown): PlainTool | undefined {
    return typeof name === 'string' ? this.#tools.get(name) : undefined;
  }

  async call(tool: PlainTool, input: unknown, caller: Caller, request: OpenRequest): Promise<JsonObject> {
    const { requests } = await this.#binding.served();
    const { signal, onProgress } = request;
    try {
      return await tool.run({
        requests,
        caller: this.#spokenTo(caller),
        input: isJsonObject(input) ? input : {},
        signal,
        ...(onProgress && { onProgress }),
      });
    } catch (error) {
      // What a model did wrong it is told in words that hosts show it.
      const isForModel = [TaskNotFound, BadAnswer, InvalidParams].some((one) => error instanceof one);
      if (isForModel) return errorResult((error as Error).message);
      throw error;
    }
  }

  // --- Lists ----------------------------------------------------------------------------------------------

  /** So that the SDK refuses another tool of the same name. */
  register(mcp: McpServer): void {
    for (const { name, title, description, annotations, inputSchema } of this.#tools.values()) {
      const registered = mcp.registerTool(
        name,
        { title, description, annotations, inputSchema: asStandardSchema(inputSchema) },
        () => {
          throw new Error(`The plain tool ${name} was called past its tasks.`);
        },
      );
      registered.execution = { taskSupport: 'forbidden' };
    }
  }

  /** As entries of a list, for servers that have none of their own. */
  get definitions(): object[] {
    return [...this.#tools.values()].map(({ run: _, ...listed }) => ({
      ...listed,
      execution: { taskSupport: 'forbidden' },
    }));
  }

  /** A page of the list of tools as a plain client is to see it, or as all others are. */
  shaped(page: JsonObject, caller: Caller, context: ServerContext): JsonObject {
    const listed = page.tools as readonly Listed[];
    const tools = this.#has(caller, context)
      ? listed.map((tool) => this.#withoutPromises(tool))
      : listed.filter(({ name }) => !this.#tools.has(name));
    return { ...page, tools };
  }

  /** Strict clients refuse structured content that does not fit the output schema, as that of a hand-over. */
  #withoutPromises(listed: Listed): Listed {
    const tool = this.#binding.tool(listed.name);
    if (!tool || tool.task === 'never') return listed;
    const { outputSchema: _, execution, ...rest } = listed;
    return { ...rest, ...(execution !== undefined && { execution: { taskSupport: 'optional' } }) };
  }
}

/** Puts the questions of the work that a call waits for on its stream, until the returned function is called. */
async function askOnStream(
  id: TaskId,
  caller: Caller,
  context: ServerContext,
  streams: Streams,
): Promise<() => void> {
  const follower = (await streams.connection()).follow(id, caller);
  const withdraw = follower.offer(streams.of(context));
  return () => {
    withdraw();
    follower.stop();
  };
}

/** What is wrong with arguments is said by the tools themselves. */
function asStandardSchema(schema: JsonObject): StandardSchemaWithJSON<Record<string, unknown>> {
  const json = () => schema;
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: (value) => ({ value: value as Record<string, unknown> }),
      jsonSchema: { input: json, output: json },
    },
  };
}
