/**
 * Log messages on their way to clients. On 2026-07-28 a request names the level from which on it wants to hear what is
 * logged while it is carried out; it hears that on the stream of its own answer, and nothing after it.
 */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../model/json.ts';
import { runtime } from '../model/runtime.ts';
import type { TaskId } from '../model/task.ts';
import { logLevelKey } from '../protocol/dialects/2026-07-28/names.ts';
import type { Called } from './binding.ts';
import { peerOf } from './streams.ts';

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

/** What is held for a slow reader at most; characters are those of JSON. */
const most = { messages: 1_000, characters: 1_048_576 };
/** Characters that are sent before the reader has to take them. The SDK's streams hold all that is not read. */
const mostUnread = 65_536;

/** The log of one reader. Messages are held up to a limit; further ones are dropped, and the reader is told how many. */
export class LogStream {
  readonly #send: (message: LogMessage) => Promise<void>;
  readonly #drained: () => Promise<void>;
  #held: LogMessage[] = [];
  #characters = 0;
  #omitted = 0;
  #unread = 0;
  #isWriting = false;
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
    const size = sizeOf(message);
    const isFull = this.#held.length >= most.messages || this.#characters + size > most.characters;
    // Once something is left out everything is, until that has been said: so it is said where it belongs, and once.
    if (this.#omitted > 0 || isFull) this.#omitted++;
    else {
      this.#held.push(message);
      this.#characters += size;
    }
    if (!this.#isWriting) void this.#write();
  }

  /** Lets go of the reader. What is held is still sent, and not waited for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const rest = this.#taken();
    for (const message of rest) void this.#send(message).catch(() => {});
    // The SDK sends nothing before this turn is over; an answer must not overtake it.
    if (rest.length > 0) await new Promise((resolve) => runtime.setImmediate(resolve));
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    try {
      for (let next = this.#next(); next && !this.#isClosed; next = this.#next()) {
        await this.#send(next);
        this.#unread += sizeOf(next);
        if (this.#unread < mostUnread) continue;
        await this.#drained();
        this.#unread = 0;
      }
    } catch {
      // Nobody reads it any more, or nobody may be told.
      this.#taken();
    } finally {
      this.#isWriting = false;
    }
  }

  #next(): LogMessage | undefined {
    const next = this.#held.shift();
    if (!next) return this.#omission();
    this.#characters -= sizeOf(next);
    return next;
  }

  #taken(): LogMessage[] {
    const rest = this.#held;
    this.#held = [];
    this.#characters = 0;
    const omission = this.#omission();
    return omission ? [...rest, omission] : rest;
  }

  #omission(): LogMessage | undefined {
    const omitted = this.#omitted;
    this.#omitted = 0;
    if (omitted === 0) return undefined;
    const data = `${omitted} log messages were left out here: they came faster than they were read.`;
    return { level: 'warning', logger: 'holdfast', data };
  }
}

function sizeOf(message: LogMessage): number {
  return JSON.stringify(message).length;
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
    peerOf(http?.req)?.drained,
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
