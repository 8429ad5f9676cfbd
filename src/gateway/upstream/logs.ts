/**
 * Forwards log messages of upstreams. Sessions of 2025-11-25 receive all messages at or above their level. A call of
 * 2026-07-28 that names a level receives messages while its request is open: those on the stream of the call, and those
 * without a known call unless calls of several owners are open on the upstream.
 *
 * An upstream of 2026-07-28 gets the level with each call. One of 2025-11-25 gets the most verbose level that anybody
 * requests, and the gateway filters the messages.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transport } from '@modelcontextprotocol/client';
import { taskIn } from '../../client/questions/pushed-questions.ts';
import { idempotencyKey, logLevelKey } from '../../dialects/2026-07-28/names.ts';
import type { JsonObject } from '../../model/json.ts';
import type { TaskId } from '../../model/task.ts';
import { RemoteError } from '../../remote-tasks/errors.ts';
import { within } from '../../runtime/timeout.ts';
import {
  type CallLog,
  isLogLevel,
  type Listening,
  type LogLevel,
  type LogMessage,
  type LogStream,
  logLevels,
} from '../../server/calls/call-log.ts';
import type { UpstreamConnection } from './connection.ts';
import type { Upstream } from './upstream.ts';
import type { UpstreamCall } from './upstream-call.ts';

/** The level of a session that has not set one. */
const defaultLevel: LogLevel = 'info';
/** How long a call waits for an upstream to set its log level. */
const setLevelTimeoutMs = 2_000;

function isAtLeast(level: LogLevel, min: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(min);
}

/** The most verbose of these levels; undefined if there are none. */
function mostVerboseOf(levels: readonly LogLevel[]): LogLevel | undefined {
  return logLevels.find((level) => levels.includes(level));
}

// --- Sessions -----------------------------------------------------------------------------------------------

/** The log streams of all sessions of 2025-11-25. */
export class SessionLogs {
  /** The streams of sessions, and the levels that they have set. */
  readonly #sessions = new Map<LogStream, LogLevel | undefined>();
  /** The most verbose level of all sessions, and whether any session has set its level. */
  wanted: { readonly level?: LogLevel | undefined; readonly isExplicit: boolean } = { isExplicit: false };
  /** Called when `wanted` may have changed. */
  onWantedChanged: () => void = () => {};

  /** Adds a session or sets its level. A new session has no level. */
  set(session: LogStream, level: LogLevel | undefined): void {
    this.#sessions.set(session, level);
    this.#changed();
  }

  leave(session: LogStream): void {
    if (!this.#sessions.delete(session)) return;
    void session.close();
    this.#changed();
  }

  send(message: LogMessage): void {
    for (const [stream, level = defaultLevel] of this.#sessions)
      if (isAtLeast(message.level, level)) stream.write(message);
  }

  #changed(): void {
    const levels = new Set(this.#sessions.values());
    this.wanted = {
      level: mostVerboseOf([...levels].map((level = defaultLevel) => level)),
      isExplicit: logLevels.some((level) => levels.has(level)),
    };
    this.onWantedChanged();
  }
}

// --- One upstream -------------------------------------------------------------------------------------------

/** The part of an upstream that `UpstreamLogs` needs. */
export type LoggingUpstream = Pick<Upstream, 'name' | 'isOnlyUpstream' | 'openCalls' | 'has' | 'request'> & {
  readonly connection: Pick<UpstreamConnection, 'isModern' | 'instance'>;
};

export class UpstreamLogs {
  readonly #upstream: LoggingUpstream;
  readonly #sessions: SessionLogs;
  /** Open requests that receive logs, with their task once it is known. */
  readonly #open = new Map<CallLog, TaskId | undefined>();
  /** Tasks in creation whose requests receive logs. */
  readonly #creating = new Set<Promise<void>>();
  /** The level that was last set, and the process or session in which that was. */
  #requested: { readonly instance: string; readonly level: LogLevel } | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #nextSync: Promise<void> | undefined;

  constructor(upstream: LoggingUpstream, sessions: SessionLogs) {
    this.#upstream = upstream;
    this.#sessions = sessions;
  }

  /** Adds a request that receives the logs of its task. */
  readonly listen = (log: CallLog): Listening => {
    this.#open.set(log, undefined);
    return {
      isFor: (creating) => {
        const known = creating.then(
          (id) => {
            if (this.#open.has(log)) this.#open.set(log, id);
          },
          () => {},
        );
        this.#creating.add(known);
        void known.then(() => this.#creating.delete(known));
      },
      end: () => {
        this.#open.delete(log);
        void this.syncLevel();
      },
    };
  };

  /**
   * The metadata for a call: the log level on 2026-07-28. On 2025-11-25, sets the level first and returns undefined.
   */
  async metaFor(upstreamCall: UpstreamCall): Promise<JsonObject | undefined> {
    if (!this.#upstream.has('logging')) return undefined;
    // A task may start before its request knows the task id.
    if (this.#creating.size > 0) await Promise.all(this.#creating);
    const own = this.#logsOf(upstreamCall).map(({ level }) => level);
    if (!this.#upstream.connection.isModern) {
      if (own.length > 0) await this.syncLevelSoon();
      return undefined;
    }
    const { level: sessionLevel } = this.#sessions.wanted;
    const level = mostVerboseOf(sessionLevel ? [...own, sessionLevel] : own);
    return level && { [logLevelKey]: level };
  }

  /** Handles a log message, of one call or of an unknown call. */
  logged(params: JsonObject, upstreamCall: UpstreamCall | undefined): void {
    const { level, logger, data } = params;
    if (!isLogLevel(level)) return;
    const message = { level, logger: this.#loggerName(logger), data };
    for (const log of this.#recipients(upstreamCall ?? this.#callOf(params)))
      if (isAtLeast(level, log.level)) log.write(message);
    this.#sessions.send(message);
  }

  #loggerName(logger: unknown): string {
    const { name, isOnlyUpstream } = this.#upstream;
    if (typeof logger !== 'string') return name;
    return isOnlyUpstream ? logger : `${name}/${logger}`;
  }

  /** The logs that receive a message of this call, or of an unknown call. */
  #recipients(upstreamCall: UpstreamCall | undefined): readonly CallLog[] {
    if (this.#open.size === 0) return [];
    if (upstreamCall) return this.#logsOf(upstreamCall);
    const { openCalls } = this.#upstream;
    const owners = new Set(openCalls.map(({ owner }) => owner));
    return owners.size > 1 ? [] : openCalls.flatMap((call) => this.#logsOf(call));
  }

  #logsOf({ task }: UpstreamCall): readonly CallLog[] {
    if (!task || this.#open.size === 0) return [];
    return [...this.#open].flatMap(([log, taskId]) => (taskId === task.id ? [log] : []));
  }

  /** The call whose upstream task the message names. */
  #callOf({ _meta }: JsonObject): UpstreamCall | undefined {
    const relatedId = taskIn(_meta);
    return relatedId === undefined
      ? undefined
      : this.#upstream.openCalls.find(({ taskId }) => taskId === relatedId);
  }

  // --- Setting the level ----------------------------------------------------------------------------------

  /** Sets the wanted level on an upstream of 2025-11-25. One request at a time; the last level counts. */
  syncLevel(): Promise<void> {
    this.#nextSync ??= this.#syncing.then(() => {
      this.#nextSync = undefined;
      this.#syncing = this.#setLevel();
      return this.#syncing;
    });
    return this.#nextSync;
  }

  /** Calls `syncLevel`, but stops waiting after a timeout. */
  syncLevelSoon(): Promise<void> {
    return within(setLevelTimeoutMs, this.syncLevel());
  }

  async #setLevel(): Promise<void> {
    const { instance } = this.#upstream.connection;
    const level = this.#wantedLevel();
    const isSet = this.#requested?.instance === instance && this.#requested.level === level;
    if (!level || isSet) return;
    try {
      await this.#upstream.request('logging/setLevel', { level });
    } catch (error) {
      // A lost request is sent again after the reconnect. A refused one is not repeated.
      if (!(error instanceof RemoteError)) return;
    }
    this.#requested = { instance, level };
  }

  /** Undefined if the level should not be set. */
  #wantedLevel(): LogLevel | undefined {
    const { isModern, instance } = this.#upstream.connection;
    if (isModern !== false || !this.#upstream.has('logging')) return undefined;
    const { level, isExplicit } = this.#sessions.wanted;
    // Until somebody sets a level, the upstream's default applies.
    if (!isExplicit && this.#open.size === 0 && this.#requested?.instance !== instance) return undefined;
    const calls = [...this.#open.keys()].map((log) => log.level);
    return mostVerboseOf(level ? [...calls, level] : calls);
  }
}

// --- Streams of calls -----------------------------------------------------------------------------------------

/** Holds the key of the call whose stream is being read. */
const callKeys = new AsyncLocalStorage<string>();

/** The key of the call on whose stream the current message arrived. */
export function currentCallKey(): string | undefined {
  return callKeys.getStore();
}

/** Makes `currentCallKey` work for a transport with one stream per request. */
export function trackStreams<T extends Transport>(transport: T): T {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const key = 'params' in message ? message.params?._meta?.[idempotencyKey] : undefined;
    return typeof key === 'string' ? callKeys.run(key, () => send(message, options)) : send(message, options);
  };
  return transport;
}
