/** The client that the authors of the Tasks extension publish (`ext-tasks`), on the SDK's client and any transport. */
import { Client, type SubscriptionFilter, type Transport } from '@modelcontextprotocol/client';
import {
  type ApplicationElicitResult,
  type ApplicationInputHandler,
  type ApplicationInputRequest,
  createTaskSessionFromClient,
  type RawClientDispatch,
  type SerializedTaskReference,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import {
  isTaskStatusNotificationV2,
  type TaskStatusNotificationV2,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { rawDispatch } from './raw-dispatch.ts';

const extension = 'io.modelcontextprotocol/tasks';
export const revision = '2026-07-28';

/** What a reference to a task is bound to. A server that was restarted on another port is still the same one. */
export const endpointId = 'holdfast-fixture';

const clientInfo = { name: 'holdfast-interop', version: '1.0.0' };
const clientCapabilities = { elicitation: { form: {} }, extensions: { [extension]: {} } };

export interface TasksClient extends AsyncDisposable {
  readonly session: TaskEnabledSession;
  /** The methods of all requests that ext-tasks has sent. */
  readonly sent: readonly string[];
  /** The questions that were put to this client: each key with its message. */
  readonly asked: ReadonlyMap<string, string>;
  listen(taskId: string): Promise<News>;
}

/** What is pushed about tasks. */
export interface News {
  /** Resolves with the first news of that status, whether it has come or is still to come. */
  of(status: string): Promise<TaskStatusNotificationV2['params']>;
  close(): Promise<void>;
}

export async function connectTasksClient(transport: Transport): Promise<TasksClient> {
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: 'auto' },
  });
  const pushed = new Pushed();
  client.fallbackNotificationHandler = async (notification) => pushed.take(notification);
  await client.connect(transport);
  if (client.getNegotiatedProtocolVersion() !== revision)
    throw new Error(`The client speaks ${client.getNegotiatedProtocolVersion()}.`);

  const sent: string[] = [];
  const asked = new Map<string, string>();
  const raw = rawDispatch(transport);
  const counted: RawClientDispatch = (request, options) => {
    sent.push((request as { method: string }).method);
    return raw(request, options);
  };
  const session = createTaskSessionFromClient(client, {
    endpointId,
    rawDispatch: counted,
    v2RequestFraming: { protocolVersion: revision, clientInfo, clientCapabilities },
    onInputRequest: (async (request, { inputId }) => {
      asked.set(String(inputId), String(request.params?.message));
      return answerTo(request);
    }) as ApplicationInputHandler['handle'],
  });
  return {
    session,
    sent,
    asked,
    async listen(taskId) {
      // The SDK passes on what it does not know, but its type does not name it.
      const subscription = await client.listen({ taskIds: [taskId] } as SubscriptionFilter);
      return {
        of: (status) => pushed.of(status),
        close: () => subscription.close(),
      };
    },
    async [Symbol.asyncDispose]() {
      await session.close();
      await client.close();
    },
  };
}

type Execution = Extract<Awaited<ReturnType<TaskEnabledSession['callTool']>>, { kind: 'task' }>;

/**
 * Leaves a task to whoever has the reference. It waits until the execution has noticed: a session of ext-tasks that is
 * closed in the same breath cancels the task that was handed over.
 */
export async function handOver(execution: Execution): Promise<SerializedTaskReference> {
  const { promise, resolve } = Promise.withResolvers<SerializedTaskReference>();
  await execution.handoff(resolve);
  await execution.result();
  return promise;
}

/** Says yes to everything, and its name where it is asked for one. */
export function answerTo({ params }: ApplicationInputRequest): ApplicationElicitResult {
  const schema = params?.requestedSchema as { readonly properties: object } | undefined;
  return {
    action: 'accept',
    content: schema && 'name' in schema.properties ? { name: 'Ada' } : { confirm: true },
  };
}

class Pushed {
  readonly #all: TaskStatusNotificationV2['params'][] = [];
  readonly #waiting: { status: string; resolve: (news: TaskStatusNotificationV2['params']) => void }[] = [];
  readonly #malformed = Promise.withResolvers<never>();

  constructor() {
    this.#malformed.promise.catch(() => {});
  }

  take(notification: unknown): void {
    if (!isTaskStatusNotificationV2(notification)) {
      this.#malformed.reject(new Error(`This is no news of a task: ${JSON.stringify(notification)}`));
      return;
    }
    const { params } = notification;
    this.#all.push(params);
    for (const { status, resolve } of this.#waiting) if (status === params.status) resolve(params);
  }

  async of(status: string): Promise<TaskStatusNotificationV2['params']> {
    const known = this.#all.find((news) => news.status === status);
    if (known) return known;
    const { promise, resolve } = Promise.withResolvers<TaskStatusNotificationV2['params']>();
    this.#waiting.push({ status, resolve });
    return Promise.race([promise, this.#malformed.promise]);
  }
}
