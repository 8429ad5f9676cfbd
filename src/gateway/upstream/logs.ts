/**
 * What upstreams log, on its way to those that want to hear it. Sessions of 2025-11-25 hear all of it from their level
 * on, as if they were connected themselves. A call of 2026-07-28 that names a level hears what is logged while it is
 * carried out, as long as its request is open: what came on the stream of the call itself, or, where an upstream does
 * not say which call it speaks of, everything, unless calls of several people are under way there.
 *
 * An upstream of 2026-07-28 is told the level with each call. One of 2025-11-25 is asked for the most that anybody
 * wants at present; who wants less is spared the rest here.
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

/** What a session hears that has not said from which level on. */
const usualLevel: LogLevel = 'info';
/** How long a call waits at most for an upstream to take note of the level that it wants. */
const patienceMs = 2_000;

function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

/** The one with which everybody hears enough; undefined if nobody wants to hear anything. */
function mostOf(levels: readonly LogLevel[]): LogLevel | undefined {
  return logLevels.find((level) => levels.includes(level));
}

// --- Sessions -----------------------------------------------------------------------------------------------

export class SessionLogs {
  /** The streams of sessions, with the levels that they have set. */
  readonly #sessions = new Map<LogStream, LogLevel | undefined>();
  /** What all of them together want to hear, and whether any of them has said so. */
  wish: { readonly level?: LogLevel | undefined; readonly isSaid: boolean } = { isSaid: false };
  /** Is called when sessions want to hear more, or less. */
  onWish: () => void = () => {};

  /** A session that joins has not set its level. */
  set(session: LogStream, level: LogLevel | undefined): void {
    this.#sessions.set(session, level);
    this.#changed();
  }

  leave(session: LogStream): void {
    if (!this.#sessions.delete(session)) return;
    void session.close();
    this.#changed();
  }

  tell(message: LogMessage): void {
    for (const [stream, level = usualLevel] of this.#sessions)
      if (isAtLeast(message.level, level)) stream.write(message);
  }

  #changed(): void {
    const said = new Set(this.#sessions.values());
    this.wish = {
      level: mostOf([...said].map((level = usualLevel) => level)),
      isSaid: logLevels.some((level) => said.has(level)),
    };
    this.onWish();
  }
}

// --- One upstream -------------------------------------------------------------------------------------------

/** As much of an upstream as its log has to know. */
export type LoggingUpstream = Pick<Upstream, 'name' | 'isAlone' | 'drives' | 'has' | 'request'> & {
  readonly connection: Pick<UpstreamConnection, 'isModern' | 'instance'>;
};

export class UpstreamLogs {
  readonly #upstream: LoggingUpstream;
  readonly #sessions: SessionLogs;
  /** Requests that listen, with their task here once it is known. */
  readonly #open = new Map<CallLog, TaskId | undefined>();
  /** Tasks that are being made, and that somebody wants to hear of. */
  readonly #unknown = new Set<Promise<void>>();
  /** The level that it was last asked for, and in which process or session. */
  #asked: { readonly instance: string; readonly level: LogLevel } | undefined;
  #asking: Promise<void> = Promise.resolve();
  #nextAsking: Promise<void> | undefined;

  constructor(upstream: LoggingUpstream, sessions: SessionLogs) {
    this.#upstream = upstream;
    this.#sessions = sessions;
  }

  /** A request that wants to hear what is logged while its task is carried out. */
  readonly listen = (log: CallLog): Listening => {
    this.#open.set(log, undefined);
    return {
      isFor: (making) => {
        const known = making.then(
          (id) => {
            if (this.#open.has(log)) this.#open.set(log, id);
          },
          () => {},
        );
        this.#unknown.add(known);
        void known.then(() => this.#unknown.delete(known));
      },
      end: () => {
        this.#open.delete(log);
        void this.ask();
      },
    };
  };

  /** The metadata that a call of this drive goes to the upstream with. */
  async metaFor(drive: UpstreamCall): Promise<JsonObject | undefined> {
    if (!this.#upstream.has('logging')) return undefined;
    // A task may be under way before the request that made it has heard its name.
    if (this.#unknown.size > 0) await Promise.all(this.#unknown);
    const own = this.#logsOf(drive).map(({ level }) => level);
    if (!this.#upstream.connection.isModern) {
      if (own.length > 0) await this.askSoon();
      return undefined;
    }
    const { level: sessions } = this.#sessions.wish;
    const level = mostOf(sessions ? [...own, sessions] : own);
    return level && { [logLevelKey]: level };
  }

  /** It has logged something: on the stream of one call, or who knows of which. */
  logged(params: JsonObject, drive: UpstreamCall | undefined): void {
    const { level, logger, data } = params;
    if (!isLogLevel(level)) return;
    const message = { level, logger: this.#nameOf(logger), data };
    for (const log of this.#hearers(drive ?? this.#driveOf(params)))
      if (isAtLeast(level, log.level)) log.write(message);
    this.#sessions.tell(message);
  }

  #nameOf(logger: unknown): string {
    const { name, isAlone } = this.#upstream;
    if (typeof logger !== 'string') return name;
    return isAlone ? logger : `${name}/${logger}`;
  }

  #hearers(drive: UpstreamCall | undefined): readonly CallLog[] {
    if (this.#open.size === 0) return [];
    if (drive) return this.#logsOf(drive);
    const { drives } = this.#upstream;
    const owners = new Set(drives.map(({ owner }) => owner));
    return owners.size > 1 ? [] : drives.flatMap((one) => this.#logsOf(one));
  }

  #logsOf({ task }: UpstreamCall): readonly CallLog[] {
    if (!task || this.#open.size === 0) return [];
    return [...this.#open].flatMap(([log, taskId]) => (taskId === task.id ? [log] : []));
  }

  #driveOf({ _meta }: JsonObject): UpstreamCall | undefined {
    const related = taskIn(_meta);
    return related === undefined ? undefined : this.#upstream.drives.find(({ taskId }) => taskId === related);
  }

  // --- Asking for a level ---------------------------------------------------------------------------------

  /** Sees to it that an upstream of 2025-11-25 logs what is wanted. One request at a time, and the last wish counts. */
  ask(): Promise<void> {
    this.#nextAsking ??= this.#asking.then(() => {
      this.#nextAsking = undefined;
      this.#asking = this.#ask();
      return this.#asking;
    });
    return this.#nextAsking;
  }

  /** The same, and however long that takes nobody waits for it for long. */
  askSoon(): Promise<void> {
    return within(patienceMs, this.ask());
  }

  async #ask(): Promise<void> {
    const { instance } = this.#upstream.connection;
    const level = this.#wanted();
    const isAsked = this.#asked?.instance === instance && this.#asked.level === level;
    if (!level || isAsked) return;
    try {
      await this.#upstream.request('logging/setLevel', { level });
    } catch (error) {
      // What it refuses once it refuses again; what got lost is said again when it is back.
      if (!(error instanceof RemoteError)) return;
    }
    this.#asked = { instance, level };
  }

  /** Undefined if it is to be left as it is. */
  #wanted(): LogLevel | undefined {
    const { isModern, instance } = this.#upstream.connection;
    if (isModern !== false || !this.#upstream.has('logging')) return undefined;
    const { level, isSaid } = this.#sessions.wish;
    // What it logs unasked is good enough until somebody has said something else.
    if (!isSaid && this.#open.size === 0 && this.#asked?.instance !== instance) return undefined;
    const calls = [...this.#open.keys()].map((log) => log.level);
    return mostOf(level ? [...calls, level] : calls);
  }
}

// --- Whose stream -------------------------------------------------------------------------------------------

/** While messages are handled that came on the stream of a call's answer: the key of the call. */
const carrying = new AsyncLocalStorage<string>();

/** The call on whose stream the message came that is being handled. */
export function carryingCall(): string | undefined {
  return carrying.getStore();
}

/** A transport that gives each request a stream of its own, of which it is then known whose it is. */
export function namingCalls<T extends Transport>(transport: T): T {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const key = 'params' in message ? message.params?._meta?.[idempotencyKey] : undefined;
    return typeof key === 'string' ? carrying.run(key, () => send(message, options)) : send(message, options);
  };
  return transport;
}
