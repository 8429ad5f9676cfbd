/**
 * The client of the SDK's first generation (`@modelcontextprotocol/sdk` 1.x), which has the tasks of 2025-11-25 under
 * `experimental.tasks`, on any transport.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  type ElicitResult,
  type JSONRPCMessage,
  type McpError,
} from '@modelcontextprotocol/sdk/types.js';

export const relatedTask = 'io.modelcontextprotocol/related-task';

export interface Question {
  readonly message: string;
  /** The task that it says it belongs to. */
  readonly taskId: string | undefined;
  /** Fires when the server takes it back. */
  readonly signal: AbortSignal;
}

export type Answer = (question: Question) => ElicitResult | Promise<ElicitResult>;
export type SdkClient = Awaited<ReturnType<typeof connectSdkClient>>;
type Input = Record<string, unknown>;

const yes: Answer = () => ({ action: 'accept', content: { confirm: true } });

/** Answers yes to everything, unless told otherwise; its model says nothing but "tides". */
export async function connectSdkClient(transport: object, answer: Answer = yes) {
  const client = new Client(
    { name: 'holdfast-interop', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} }, sampling: {} } },
  );
  const asked: Question[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
    const question = { message: params.message, taskId: params._meta?.[relatedTask]?.taskId, signal };
    asked.push(question);
    return answer(question);
  });
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant' as const,
    model: 'a model of tides',
    content: { type: 'text' as const, text: 'tides' },
  }));
  // Its own classes do not fit its own interface where optional properties are exact.
  const recorded = transport as Transport;
  const sent: JSONRPCMessage[] = [];
  const received: JSONRPCMessage[] = [];
  const send = recorded.send.bind(recorded);
  recorded.send = (message, options) => {
    sent.push(message);
    return send(message, options);
  };
  // The client calls the handler that was there before it.
  recorded.onmessage = (message) => received.push(message);
  await client.connect(recorded);
  // From the list it knows which tools to call as tasks.
  await client.listTools();
  const { tasks } = client.experimental;
  return {
    client,
    tasks,
    asked: asked as readonly Question[],
    sent,
    received,
    [Symbol.asyncDispose]: () => client.close(),

    /**
     * Calls a tool the way the SDK recommends, to the end of the stream. The story is what each message was about: a
     * created task, a status, and at the end a result or an error.
     */
    async call(
      name: string,
      input: Input = {},
      { onTask, ...options }: RequestOptions & { onTask?: (taskId: string) => void } = {},
    ) {
      const story: string[] = [];
      let [taskId, result, error]: [string?, CallToolResult?, McpError?] = [];
      const called = { name, arguments: input };
      for await (const message of tasks.callToolStream(called, CallToolResultSchema, options)) {
        story.push(message.type === 'taskStatus' ? message.task.status : message.type);
        if (message.type === 'taskCreated') {
          taskId = message.task.taskId;
          onTask?.(taskId);
        } else if (message.type === 'result') result = message.result;
        else if (message.type === 'error') error = message.error;
      }
      return { taskId, story, result, error };
    },

    async start(name: string, input: Input = {}): Promise<string> {
      const request = { method: 'tools/call' as const, params: { name, arguments: input } };
      return (await client.request(request, CreateTaskResultSchema, { task: {} })).task.taskId;
    },

    result: (taskId: string, options?: RequestOptions): Promise<CallToolResult> =>
      tasks.getTaskResult(taskId, CallToolResultSchema, options),
  };
}
