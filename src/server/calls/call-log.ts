/**
 * Log messages on their way to clients. On 2026-07-28 a request names the level from which on it wants to hear what is
 * logged while it is carried out; it hears that on the stream of its own answer, and nothing after it.
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

/** A request that hears what is logged while it is carried out. */
export interface CallLog {
  readonly level: LogLevel;
  tell(message: LogMessage): void;
}

/** What such a request is about. */
export interface Listening {
  /** Before that task begins. */
  isFor(making: Promise<TaskId>): void;
  end(): void;
}

/** What is sent before its reader has to take some of it. The SDK's streams hold all that is not read. */
const maxUnread = { messages: 1_000, characters: 1_048_576 };

/** The log of one reader. Messages that come faster than they are read are dropped, and the reader is told how many. */
export class LogStream {
  readonly #send: (message: LogMessage) => Promise<void>;
  readonly #drained: () => Promise<void>;
  #unread = { messages: 0, characters: 0 };
  #omitted = 0;
  #lastSent = Promise.resolve();
  #isWaiting = false;
  #isClosed = false;

  /** `send` puts a message on the stream; `drained` resolves when the reader has taken all of them. */
  constructor(
    send: (message: LogMessage) => Promise<void>,
    drained: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#send = send;
    this.#drained = drained;
  }

  tell(message: LogMessage): void {
    if (this.#isClosed) return;
    const { messages, characters } = this.#unread;
    const size = JSON.stringify(message).length;
    const isFull = messages >= maxUnread.messages || characters + size > maxUnread.characters;
    // A message that alone is larger than the limit is sent to a reader that has taken everything.
    if (messages > 0 && (isFull || this.#omitted > 0)) this.#omitted++;
    else this.#put(message, size);
  }

  /** Lets go of the reader. */
  async close(): Promise<void> {
    this.#tellOmitted();
    this.#isClosed = true;
    // The SDK sends nothing before this turn is over; an answer must not overtake it.
    if (this.#unread.messages > 0) await new Promise((resolve) => runtime.setImmediate(resolve));
  }

  #put(message: LogMessage, size: number): void {
    this.#unread = { messages: this.#unread.messages + 1, characters: this.#unread.characters + size };
    this.#lastSent = this.#send(message);
    // Nobody reads it any more, or nobody may be told.
    this.#lastSent.catch(() => {
      this.#isClosed = true;
    });
    if (!this.#isWaiting) void this.#untilRead().catch(() => {});
  }

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
      this.#tellOmitted();
    }
    this.#isWaiting = false;
  }

  /** Where they would have been. */
  #tellOmitted(): void {
    const omitted = this.#omitted;
    if (omitted === 0 || this.#isClosed) return;
    this.#omitted = 0;
    const data = `${omitted} log messages were left out here: they came faster than they were read.`;
    this.#put({ level: 'warning', logger: 'holdfast', data }, data.length);
  }
}

/** Opens the log of a request that wants one, if what it calls has one. */
export function listeningOf(
  { listen }: Called,
  { mcpReq, http }: ServerContext,
): { readonly onTask: (making: Promise<TaskId>) => void; readonly end: () => Promise<void> } | undefined {
  const level = (mcpReq.envelope as JsonObject | undefined)?.[logLevelKey];
  if (!listen || !isLogLevel(level)) return undefined;
  const stream = new LogStream(
    (params) => mcpReq.notify({ method: 'notifications/message', params } as never),
    exchangeOf(http?.req)?.drained,
  );
  const listening = listen({ level, tell: (message) => stream.tell(message) });
  return {
    onTask: (making) => listening.isFor(making),
    end: () => {
      listening.end();
      return stream.close();
    },
  };
}
