/**
 * The client that the authors of the Tasks extension publish (`ext-tasks`), on the SDK's client and any transport, in
 * either revision. In 2025-11-25, which is what it becomes with the SDK's client as it is by default, questions come to
 * it on the connection itself.
 */
import { Client, type SubscriptionFilter, type Transport } from '@modelcontextprotocol/client';
import {
  type ApplicationElicitResult,
  type ApplicationInputHandler,
  type ApplicationInputRequest,
  createTaskSessionFromClient,
  DispatchError,
  type RawClientDispatch,
  type SerializedTaskReference,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import {
  isTaskStatusNotificationV2,
  type TaskStatusNotificationV2,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { until } from '../../kit/until.ts';

export type Revision = '2025-11-25' | '2026-07-28';
type Execution = Awaited<ReturnType<TaskEnabledSession['callTool']>>;
type TaskExecution = Extract<Execution, { kind: 'task' }>;
type News = TaskStatusNotificationV2['params'];
type Input = Parameters<TaskEnabledSession['callTool']>[1];
type Answer = (
  request: ApplicationInputRequest,
) => ApplicationElicitResult | Promise<ApplicationElicitResult>;

/** What a reference to a task is bound to. A server that was restarted is still the same one. */
const endpointId = 'holdfast-fixture';
const clientInfo = { name: 'holdfast-interop', version: '1.0.0' };
const elicitation = { form: {} };
const later = { elicitation, extensions: { 'io.modelcontextprotocol/tasks': {} } };

export type TasksClient = Awaited<ReturnType<typeof connectTasksClient>>;

export async function connectTasksClient(
  transport: Transport,
  revision: Revision,
  answer: Answer = answerTo,
) {
  const isLater = revision !== '2025-11-25';
  const client = isLater
    ? new Client(clientInfo, { capabilities: later, versionNegotiation: { mode: 'auto' } })
    : new Client(clientInfo, { capabilities: { elicitation } });
  /** The methods of all requests that were sent, and `answer` for each question that was answered. */
  const sent: string[] = [];
  const asked: { key: string; message: string; taskId: string | undefined }[] = [];
  const pushed: unknown[] = [];
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    sent.push('method' in message ? message.method : 'answer');
    return send(message, options);
  };
  client.fallbackNotificationHandler = async (notification) => void pushed.push(notification);
  await client.connect(transport);
  const negotiated = client.getNegotiatedProtocolVersion();
  if (negotiated !== revision) throw new Error(`The client speaks ${negotiated}.`);
  const session = createTaskSessionFromClient(client, {
    endpointId,
    ...(isLater && {
      rawDispatch: rawDispatch(transport),
      v2RequestFraming: { protocolVersion: negotiated, clientInfo, clientCapabilities: later },
    }),
    onInputRequest: (async (request, { inputId, taskId }) => {
      asked.push({ key: String(inputId), message: String(request.params?.message), taskId });
      return answer(request);
    }) as ApplicationInputHandler['handle'],
  });

  /** Asks for a task, which in 2025-11-25 this client otherwise does only with tools that demand it. */
  const call = (tool: string, input: Input = {}): Promise<Execution> =>
    session.callTool(tool, input, isLater ? undefined : { task: { preference: 'prefer' } });

  const start = async (tool: string, input?: Input): Promise<TaskExecution> => {
    const execution = await call(tool, input);
    if (execution.kind !== 'task') throw new Error(`${tool} was answered without a task.`);
    return execution;
  };

  return {
    client,
    session,
    sent,
    asked,
    call,
    start,
    outcome: async (tool: string, input?: Input) => (await (await start(tool, input)).settle()).outcome,
    async detached(tool: string, input?: Input): Promise<TaskExecution['handle']['taskId']> {
      const execution = await start(tool, input);
      await execution.detach();
      return execution.handle.taskId;
    },
    /** Whoever listens waits for the first news of a status, whether it has come or is still to come. */
    async listen(taskId: string) {
      // The SDK passes on what it does not know, but its type does not name it.
      const subscription = await client.listen({ taskIds: [taskId] } as SubscriptionFilter);
      const first = (status: string) => pushed.map(newsIn).find((news) => news.status === status);
      return {
        close: () => subscription.close(),
        of: async <S extends News['status']>(status: S) => {
          await until(() => first(status));
          return first(status) as News & { status: S };
        },
      };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await session.close();
      await client.close();
    },
  };
}

function newsIn(notification: unknown): News {
  if (isTaskStatusNotificationV2(notification)) return notification.params;
  throw new Error(`This is no news of a task: ${JSON.stringify(notification)}`);
}

/**
 * Leaves a task to whoever has the reference. It waits until the execution has noticed: a session of ext-tasks that is
 * closed in the same breath cancels the task that was handed over.
 */
export async function handOver(execution: TaskExecution): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<SerializedTaskReference>();
  await execution.handoff(resolve);
  await execution.result();
  return JSON.stringify(await promise);
}

/** Says yes to everything, and its name where it is asked for one. */
function answerTo({ params }: ApplicationInputRequest): ApplicationElicitResult {
  const schema = params?.requestedSchema as { readonly properties: object } | undefined;
  return {
    action: 'accept',
    content: schema && 'name' in schema.properties ? { name: 'Ada' } : { confirm: true },
  };
}

/**
 * Requests over the transport of a connected client, past the client: the SDK's client refuses the result that says
 * "this is a task now", so ext-tasks asks its host for a way around it. Ids are strings here and numbers in the SDK.
 */
function rawDispatch(transport: Transport): RawClientDispatch {
  type Response = Awaited<ReturnType<RawClientDispatch>>;
  type Message = Parameters<Transport['send']>[0];
  const pending = new Map<unknown, (response: Response) => void>();
  const toClient = transport.onmessage!;
  transport.onmessage = (message, extra) => {
    const resolve = 'method' in message ? undefined : pending.get(message.id);
    if (!resolve) return toClient(message, extra);
    resolve({ kind: 'error' in message ? 'error' : 'result', ...message } as Response);
  };
  return (request, { signal, context } = {}) =>
    new Promise<Response>((resolve, reject) => {
      const id = `raw-${pending.size + 1}`;
      pending.set(id, resolve);
      signal?.addEventListener('abort', () => reject(new DispatchError('The request was aborted.')));
      const sent = transport.send({ jsonrpc: '2.0', id, ...(request as object) } as Message, {
        ...(signal && { requestSignal: signal }),
        ...(context?.headers && { headers: context.headers }),
        onRequestStreamEnd: () => reject(new DispatchError('The stream ended without an answer.', true)),
      });
      sent.catch((cause: Error) => reject(new DispatchError(cause.message, true, { cause })));
    });
}
