/** Messages of 2026-07-28 as they go over the wire, for clients that send exactly what a test tells them. */
import { readEvents } from '../../src/dialects/event-stream.ts';
import { until } from './until.ts';

export const revision = '2026-07-28';
export const extension = 'io.modelcontextprotocol/tasks';
export const subtasks = 'dev.holdfast/subtasks';

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says.
export type Message = Record<string, any>;

/** A request with everything that the revision requires in its `_meta`. What the test puts there wins. */
export function requestOf(id: string | number, method: string, params: Message, capabilities: object) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...meta, ...params._meta } } };
}

export function headersOf(method: string, { name, taskId }: Message, token?: string): Record<string, string> {
  const subject = method.startsWith('tasks/') ? taskId : name;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': revision,
    'mcp-method': method,
    ...(typeof subject === 'string' && { 'mcp-name': subject }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
}

/** The message in a line of a stream of events. Other lines have none; a line that is no event is a message itself. */
export function eventData(line: string): Message | undefined {
  return /^(event: .*|id: .*|retry: .*|:.*|)$/.test(line)
    ? undefined
    : JSON.parse(line.replace(/^data: /, ''));
}

/** The messages of an answer, which is a stream or a single one. */
export async function* messagesIn(response: Response): AsyncGenerator<Message> {
  if (response.headers.get('content-type')?.includes('event-stream')) yield* frames(response);
  else yield (await response.json()) as Message;
}

export async function* frames(response: Response): AsyncGenerator<Message> {
  for await (const { data } of readEvents(response.body!)) if (data) yield JSON.parse(data);
}

export type Listening = Awaited<ReturnType<typeof listening>>;

/** A stream of events that is open, and everything that came on it so far. */
export async function listening(
  open: (signal: AbortSignal) => Promise<Response>,
  hear: (message: Message) => void = () => {},
) {
  const heard: Message[] = [];
  const closing = new AbortController();
  const response = await open(closing.signal);
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const read = async () => {
    for await (const message of frames(response)) {
      heard.push(message);
      hear(message);
    }
  };
  const reading = read().catch(() => {});
  return {
    heard,
    /** The first message of that kind, whether it has come or is still to come. */
    async until(isIt: (message: Message) => boolean): Promise<Message> {
      await until(() => heard.some(isIt));
      return heard.find(isIt)!;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await reading;
    },
  };
}
