/** A server behind the gateway: the policies of its tools, and its open calls. */

import type { TaskHandle } from '../../client/call-handle.ts';
import { type CallRecord, callRegistryInMemory, newRecord } from '../../client/call-registry.ts';
import type { Question } from '../../client/questions/question-callback.ts';
import { type RetryPolicy, retryPolicy } from '../../engine/replay/step-retry.ts';
import { HoldfastError } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { runtime } from '../../runtime/runtime.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import { within } from '../../runtime/timeout.ts';
import { anonymous } from '../../task-methods/caller.ts';
import type { Policy, UpstreamConfig } from '../config/config.ts';
import {
  type ConnectionEvents,
  type ConnectionParts,
  type Listed,
  UpstreamConnection,
} from './connection.ts';
import { type SessionLogs, UpstreamLogs } from './logs.ts';
import type { RemoteTaskEvent, UpstreamCall } from './upstream-call.ts';

/** The input of a relayed call's task. It is stored, so the names of its fields cannot change. */
export interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
  /** True if the tool had a limit of its own when the task was created. Replay depends on it. */
  readonly isLimited?: boolean;
  /** Finds the `UpstreamCall` of a call that started before its task was created. */
  readonly ticket?: string;
}

export interface UpstreamParts extends Pick<ConnectionParts, 'version' | 'listed'> {
  readonly events: Pick<ConnectionEvents, 'changed' | 'failed' | 'notified'>;
  readonly sessionLogs: SessionLogs;
  readonly isOnlyUpstream: boolean;
}

/** How long a call waits for the connection before it fails. */
const reconnectTimeout = '5s';
/** A question may name a task before the upstream has answered the call. This is how long it waits for that. */
const taskIdTimeoutMs = 5_000;

export class Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  /** True if the lists of an earlier process are available. */
  readonly isListCached: boolean;
  readonly logs: UpstreamLogs;
  readonly connection: UpstreamConnection;
  /** Limits the concurrent calls of the tools that have a limit of their own. */
  readonly slots: ReadonlyMap<string, Semaphore>;
  /** True if the gateway has no other upstream. */
  readonly isOnlyUpstream: boolean;
  /** Records of open calls only: the durable record is the task's journal. */
  readonly #registry = callRegistryInMemory((record) => record);
  /** By the idempotency key of the call, or the record's id if the call was resumed. */
  readonly #openCalls = new Map<string, UpstreamCall>();
  readonly #attribution = new Attribution();

  constructor(name: string, config: UpstreamConfig, parts: UpstreamParts) {
    this.name = name;
    this.config = config;
    this.isListCached = parts.listed !== undefined;
    this.isOnlyUpstream = parts.isOnlyUpstream;
    const limits = Object.entries(config.tools).flatMap(([tool, { concurrency }]) =>
      concurrency === undefined ? [] : [[tool, new Semaphore(concurrency)] as const],
    );
    this.slots = new Map(limits);
    this.connection = new UpstreamConnection({
      ...parts,
      name,
      target: config.target,
      registry: this.#registry,
      answer: async (question, signal) => (await this.#findAsking(question)).ask(question, signal),
      events: {
        ...parts.events,
        logged: (params, key = '') => this.logs.logged(params, this.#openCalls.get(key)),
        opened: () => void this.logs.syncLevel(),
      },
    });
    this.logs = new UpstreamLogs(this, parts.sessionLogs);
  }

  get openCalls(): readonly UpstreamCall[] {
    return [...this.#openCalls.values()];
  }

  get listed(): Listed {
    return this.connection.listed;
  }

  has(capability: string): boolean {
    return isJsonObject(this.listed.capabilities[capability]);
  }

  // --- Policies of tools ----------------------------------------------------------------------------------

  /** The policy of the upstream, with the tool's own settings in place of the same ones. */
  policy(tool: string): Policy {
    const { policy, tools } = this.config;
    return { ...policy, ...(Object.hasOwn(tools, tool) && tools[tool]) };
  }

  /** True if it is safe to call the tool twice. */
  isSafe(tool: string): boolean {
    const { idempotent } = this.policy(tool);
    if (idempotent !== undefined) return idempotent;
    const annotations = this.listed.tools.find(({ name }) => name === tool)?.annotations;
    return (
      isJsonObject(annotations) && (annotations.readOnlyHint === true || annotations.idempotentHint === true)
    );
  }

  retry(tool: string): RetryPolicy {
    return retryPolicy(this.isSafe(tool) ? this.policy(tool).retry : undefined);
  }

  // --- Requests -------------------------------------------------------------------------------------------

  async request(method: string, params: JsonObject): Promise<JsonObject> {
    const client = await this.connection.ready();
    return client.request(method, params);
  }

  /** Sends a call. Waits first until no question is unattributed, because the call would be another candidate. */
  send(upstreamCall: UpstreamCall, { name, arguments: input }: Call, idempotencyKey: string): void {
    void upstreamCall.start(this, async (signal) => {
      await this.#attribution.settled;
      this.#openCalls.set(idempotencyKey, upstreamCall);
      const client = await this.connection.ready();
      const _meta = await this.logs.metaFor(upstreamCall);
      const params = { name, arguments: input, ...(_meta && { _meta }) };
      return client.start('tools/call', params, {
        signal,
        idempotencyKey,
        cancelOnAbort: true,
        reconnectTimeout,
        answer: (question, signal) => upstreamCall.ask(question, signal),
        onProgress: (progress) => upstreamCall.progress(progress),
      });
    });
  }

  /** Resumes a task that the upstream created in an earlier process or pass. False if that is not possible. */
  resume(upstreamCall: UpstreamCall, call: Call, remoteTask: RemoteTaskEvent): boolean {
    // A program that the gateway spawned has exited with it.
    if ('command' in this.config.target && remoteTask.instance !== this.connection.instance) return false;
    const record = recordOf(this.name, call, remoteTask);
    const start = async () => {
      this.#openCalls.set(record.id, upstreamCall);
      const client = await this.connection.clientFor(remoteTask.session);
      this.#registry.save(record);
      return client.resume(record.id, { answer: (question, signal) => upstreamCall.ask(question, signal) });
    };
    void upstreamCall.start(this, start, true);
    return true;
  }

  /** What a later pass needs to resume the task. */
  remoteTaskOf(handle: TaskHandle): RemoteTaskEvent {
    const { instance, session } = this.connection;
    const dialect = this.#registry.get(handle.id)?.dialect ?? '';
    return { type: 'task', taskId: handle.taskId!, dialect, instance, ...(session && { session }) };
  }

  /** The call has ended, or nobody waits for it any longer. */
  release(upstreamCall: UpstreamCall): void {
    for (const [key, other] of this.#openCalls) if (other === upstreamCall) this.#openCalls.delete(key);
    this.#attribution.recheck();
    if (upstreamCall.handle) this.#registry.delete(upstreamCall.handle.id);
  }

  // --- Questions ------------------------------------------------------------------------------------------

  /** The call that a pushed question belongs to. Such a question names the upstream's task at most, never the call. */
  async #findAsking({ taskId }: Question): Promise<UpstreamCall> {
    if (taskId !== undefined) {
      const findCall = () => this.openCalls.find((upstreamCall) => upstreamCall.taskId === taskId);
      if (!findCall())
        await within(taskIdTimeoutMs, Promise.all(this.openCalls.map(({ answered }) => answered)));
      const asking = findCall();
      if (asking) return asking;
    }
    return this.#attribution.attribute(() => {
      const idle = this.openCalls.filter(({ openQuestions }) => openQuestions === 0);
      const plain = idle.filter((upstreamCall) => upstreamCall.taskId === undefined);
      return plain.length > 0 ? plain : idle;
    });
  }
}

function recordOf(server: string, { name, arguments: input }: Call, remoteTask: RemoteTaskEvent): CallRecord {
  const { dialect, taskId } = remoteTask;
  const params = { name, arguments: input };
  return { ...newRecord({ server, method: 'tools/call', params }), dialect, taskId };
}

// --- Attribution of questions --------------------------------------------------------------------------------------

/**
 * How long a question with several candidates waits for other calls to end. Then it is refused if one of the owners is
 * known, and goes to a guessed call if all are anonymous.
 */
const attributionTimeoutMs = { known: 30_000, anonymous: 2_000 };

export class NotAttributed extends HoldfastError {
  constructor() {
    super(
      'NOT_ATTRIBUTED',
      'Several callers have open calls on this server, and the question does not name one of them.',
    );
  }
}

/** A question that waits for its call. */
interface Waiting {
  /** Settles the question if its call can be determined now. */
  readonly check: () => void;
  /** Calls that other questions were attributed to in the meantime. */
  readonly attributed: Set<UpstreamCall>;
}

/**
 * Finds the call that asks a question. On a connection of 2025-11-25 a question names its task at most, so it can come
 * from any of several plain calls. If these belong to different owners, no further call starts until only one is left;
 * that one asks. So a known owner never gets the question of another owner. Anonymous callers cannot be distinguished:
 * after a timeout the latest call is chosen, and simultaneous questions go to different calls.
 */
export class Attribution {
  readonly #waiting = new Set<Waiting>();
  #settled: PromiseWithResolvers<void> | undefined;

  /** Resolves when no question waits for its call. */
  get settled(): Promise<void> | undefined {
    return this.#settled?.promise;
  }

  /** To be called when a call has ended. */
  recheck(): void {
    for (const { check } of this.#waiting) check();
  }

  /** Resolves to the call that asks. `candidates` returns the possible calls in the order of their start. */
  async attribute(candidates: () => readonly UpstreamCall[]): Promise<UpstreamCall> {
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamCall>();
    const check = () => {
      const [first, ...others] = candidates();
      if (!first) reject(new NotAttributed());
      else if (others.length === 0 || haveOneKnownOwner([first, ...others])) resolve(others.at(-1) ?? first);
    };
    const waiting: Waiting = { check, attributed: new Set() };
    const timers = [
      runtime.setTimeout(() => reject(new NotAttributed()), attributionTimeoutMs.known),
      runtime.setTimeout(() => {
        const remaining = candidates();
        const last =
          remaining.findLast((upstreamCall) => !waiting.attributed.has(upstreamCall)) ?? remaining.at(-1);
        if (!last || remaining.some(({ owner }) => owner !== anonymous)) return;
        for (const { attributed } of this.#waiting) attributed.add(last);
        resolve(last);
      }, attributionTimeoutMs.anonymous),
    ];
    this.#settled ??= Promise.withResolvers();
    this.#waiting.add(waiting);
    check();
    try {
      return await promise;
    } finally {
      for (const timer of timers) runtime.clearTimeout(timer);
      this.#waiting.delete(waiting);
      if (this.#waiting.size === 0) {
        this.#settled?.resolve();
        this.#settled = undefined;
      }
    }
  }
}

/** True if all calls belong to one known owner: any of them reaches the same person. */
function haveOneKnownOwner(candidates: readonly UpstreamCall[]): boolean {
  const [owner, ...others] = new Set(candidates.map((upstreamCall) => upstreamCall.owner));
  return others.length === 0 && owner !== anonymous;
}
