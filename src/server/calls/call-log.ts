/**
 * Log messages for clients. A request of 2026-07-28 may name a minimum log level in its metadata. Then the messages of
 * its own call are sent on the stream of its answer, before the answer.
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import { logLevelKey } from '../../dialects/2026-07-28/names.ts';
import type { JsonObject } from '../../model/json.ts';
import type { TaskId } from '../../model/task.ts';
import { runtime } from '../../runtime/runtime.ts';
import type { Called } from '../task-server.ts';
import { exchangeOf } from './deliveries.ts';

/** From the least to the most important. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(level: unknown): level is LogLevel {
  return logLevels.includes(level as LogLevel);
}

/** The params of `notifications/message`. */
export interface LogMessage {
  readonly level: LogLevel;
  readonly logger?: string;
  readonly data: unknown;
}

/** The log of one call, for a request that asked for it. */
export interface CallLog {
  /** The minimum level that the request asked for. */
  readonly level: LogLevel;
  write(message: LogMessage): void;
}

/** The subscription of one call to its log messages, until `end()`. */
export interface Listening {
  /** Sets the task of the call, whose id `creating` resolves to. Called before that task begins. */
  isFor(creating: Promise<TaskId>): void;
  end(): void;
}

/** The maximum that is buffered for a reader; more is dropped. The SDK's streams buffer without a limit. */
const maxUnread = { messages: 1_000, characters: 1_048_576 };

/** The log stream of one reader. It drops messages that come faster than they are read, and reports how many. */
export class LogStream {
  readonly #send: (message: LogMessage) => Promise<void>;
  readonly #drained: () => Promise<void>;
  /** What was sent, but not read yet. */
  #unread = { messages: 0, characters: 0 };
  /** The number of messages dropped since the last report about them. */
  #omitted = 0;
  #lastSent = Promise.resolve();
  /** True while `#untilRead` runs. */
  #isWaiting = false;
  #isClosed = false;

  /** `send` writes a message to the stream; `drained` resolves when the reader has read all messages written so far. */
  constructor(
    send: (message: LogMessage) => Promise<void>,
    drained: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#send = send;
    this.#drained = drained;
  }

  write(message: LogMessage): void {
    if (this.#isClosed) return;
    const { messages, characters } = this.#unread;
    const size = JSON.stringify(message).length;
    const isFull = messages >= maxUnread.messages || characters + size > maxUnread.characters;
    // A message that exceeds the limit by itself is sent when the buffer is empty.
    if (messages > 0 && (isFull || this.#omitted > 0)) this.#omitted++;
    else this.#push(message, size);
  }

  /** Reports dropped messages and stops sending. The answer to the request may be sent once this resolves. */
  async close(): Promise<void> {
    this.#writeOmitted();
    this.#isClosed = true;
    // The SDK sends only at the end of this turn of the event loop; the answer must not overtake the messages.
    if (this.#unread.messages > 0) await new Promise((resolve) => runtime.setImmediate(resolve));
  }

  #push(message: LogMessage, size: number): void {
    this.#unread = { messages: this.#unread.messages + 1, characters: this.#unread.characters + size };
    this.#lastSent = this.#send(message);
    // Stop sending: the reader is gone, or the transport refused the message.
    this.#lastSent.catch(() => {
      this.#isClosed = true;
    });
    if (!this.#isWaiting) void this.#untilRead().catch(() => {});
  }

  /** Updates the counts of unread messages until the reader has read all. */
  async #untilRead(): Promise<void> {
    this.#isWaiting = true;
    while (this.#unread.messages > 0) {
      const { messages, characters } = this.#unread;
      await this.#lastSent;
      await this.#drained();
      this.#unread = {
        messages: this.#unread.messages - messages,
        characters: this.#unread.characters - characters,
      };
      this.#writeOmitted();
    }
    this.#isWaiting = false;
  }

  /** Reports the number of dropped messages at their position in the stream. */
  #writeOmitted(): void {
    const omitted = this.#omitted;
    if (omitted === 0 || this.#isClosed) return;
    this.#omitted = 0;
    const data = `${omitted} log messages were dropped here: they came faster than they were read.`;
    this.#push({ level: 'warning', logger: 'holdfast', data }, data.length);
  }
}

/** Opens the log of a request. Undefined if the request did not ask for one or the called tool has none. */
export function listeningOf(
  { listen }: Called,
  { mcpReq, http }: ServerContext,
): { readonly onTask: (creating: Promise<TaskId>) => void; readonly end: () => Promise<void> } | undefined {
  const level = (mcpReq.envelope as JsonObject | undefined)?.[logLevelKey];
  if (!listen || !isLogLevel(level)) return undefined;
  const stream = new LogStream(
    (params) => mcpReq.notify({ method: 'notifications/message', params } as never),
    exchangeOf(http?.req)?.drained,
  );
  const listening = listen({ level, write: (message) => stream.write(message) });
  return {
    onTask: (creating) => listening.isFor(creating),
    end: () => {
      listening.end();
      return stream.close();
    },
  };
}
