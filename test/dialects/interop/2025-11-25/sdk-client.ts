/**
 * The client of the SDK's first generation (`@modelcontextprotocol/sdk`), which has the tasks of 2025-11-25 under
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

export interface SdkClient extends AsyncDisposable {
  readonly client: Client;
  readonly tasks: Client['experimental']['tasks'];
  readonly asked: readonly Question[];
  readonly sent: readonly JSONRPCMessage[];
  readonly received: readonly JSONRPCMessage[];
}

export type Answer = (question: Question) => ElicitResult | Promise<ElicitResult>;

const yes: Answer = () => ({ action: 'accept', content: { confirm: true } });

/** Answers yes to everything, unless told otherwise; its model says nothing but "tides". */
export async function connectSdkClient(transport: object, answer: Answer = yes): Promise<SdkClient> {
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
  const traffic = recorded(transport as Transport);
  await client.connect(transport as Transport);
  // From the list it knows which tools to call as tasks.
  await client.listTools();
  return {
    client,
    tasks: client.experimental.tasks,
    asked,
    ...traffic,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function recorded(transport: Transport): { sent: JSONRPCMessage[]; received: JSONRPCMessage[] } {
  const [sent, received]: JSONRPCMessage[][] = [[], []];
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    sent!.push(message);
    return send(message, options);
  };
  // The client calls whoever was there before it.
  transport.onmessage = (message) => received!.push(message);
  return { sent: sent!, received: received! };
}

/** What a stream of `callToolStream` came to. */
export interface Called {
  readonly taskId: string | undefined;
  /** What each message was about: a created task, a status, and at the end a result or an error. */
  readonly story: readonly string[];
  readonly result: CallToolResult | undefined;
  readonly error: McpError | undefined;
}

/** Calls a tool the way the SDK recommends, to the end of the stream. */
export async function callTool(
  { tasks }: SdkClient,
  name: string,
  input: Record<string, unknown> = {},
  { onTask, ...options }: RequestOptions & { onTask?: (taskId: string) => void } = {},
): Promise<Called> {
  const story: string[] = [];
  let [taskId, result, error]: [string?, CallToolResult?, McpError?] = [];
  for await (const message of tasks.callToolStream(
    { name, arguments: input },
    CallToolResultSchema,
    options,
  )) {
    story.push(message.type === 'taskStatus' ? message.task.status : message.type);
    if (message.type === 'taskCreated') {
      taskId = message.task.taskId;
      onTask?.(taskId);
    } else if (message.type === 'result') result = message.result;
    else if (message.type === 'error') error = message.error;
  }
  return { taskId, story, result, error };
}

/** Starts a task and leaves it alone. */
export async function start(
  { client }: SdkClient,
  name: string,
  input: Record<string, unknown> = {},
): Promise<string> {
  const request = { method: 'tools/call' as const, params: { name, arguments: input } };
  const { task } = await client.request(request, CreateTaskResultSchema, { task: {} });
  return task.taskId;
}

export function resultOf(
  { tasks }: SdkClient,
  taskId: string,
  options?: RequestOptions,
): Promise<CallToolResult> {
  return tasks.getTaskResult(taskId, CallToolResultSchema, options);
}
