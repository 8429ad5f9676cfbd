/**
 * The ext-tasks client in a session of 2025-11-25: what it becomes with the SDK's client as it is by default. Here it
 * needs no way around the SDK, and its questions come to it unasked, on the connection itself.
 */
import { Client, type Transport } from '@modelcontextprotocol/client';
import {
  type ApplicationElicitResult,
  type ApplicationInputHandler,
  type ApplicationInputRequest,
  createTaskSessionFromClient,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import { answerTo, endpointId } from '../tasks-client.ts';

const revision = '2025-11-25';

export interface OlderTasksClient extends AsyncDisposable {
  readonly client: Client;
  readonly session: TaskEnabledSession;
  /** The methods of all requests that were sent, and `answer` for each question that was answered. */
  readonly sent: readonly string[];
  /** The messages of the questions that were put to this client, each with the task that it belongs to. */
  readonly asked: readonly (readonly [message: string, taskId: string | undefined])[];
}

type Answer = (
  request: ApplicationInputRequest,
) => ApplicationElicitResult | Promise<ApplicationElicitResult>;

export async function connectOlderTasksClient(
  transport: Transport,
  answer: Answer = answerTo,
): Promise<OlderTasksClient> {
  const client = new Client(
    { name: 'holdfast-interop', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } } },
  );
  const sent: string[] = [];
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    sent.push('method' in message ? message.method : 'answer');
    return send(message, options);
  };
  await client.connect(transport);
  if (client.getNegotiatedProtocolVersion() !== revision)
    throw new Error(`The client speaks ${client.getNegotiatedProtocolVersion()}.`);
  const asked: [string, string | undefined][] = [];
  const session = createTaskSessionFromClient(client, {
    endpointId,
    onInputRequest: (async (request, { taskId }) => {
      asked.push([String(request.params?.message), taskId]);
      return answer(request);
    }) as ApplicationInputHandler['handle'],
  });
  return {
    client,
    session,
    sent,
    asked,
    async [Symbol.asyncDispose]() {
      await session.close();
      await client.close();
    },
  };
}

/** Calls a tool as a task, which this client otherwise does only with tools that demand it. */
export async function startTask(
  { session }: OlderTasksClient,
  tool: string,
  input: Parameters<TaskEnabledSession['callTool']>[1] = {},
) {
  const execution = await session.callTool(tool, input, { task: { preference: 'prefer' } });
  if (execution.kind !== 'task') throw new Error(`${tool} was answered without a task.`);
  return execution;
}
