/** A server behind the gateway: what is said about its tools, and the calls that are under way on it. */

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

export interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Its tool had a limit of its own when it was made, which the journal must not forget. */
  readonly isLimited?: boolean;
  /** Under which its drive waits for the task, if it began before there was one. */
  readonly ticket?: string;
}

export interface UpstreamParts extends Pick<ConnectionParts, 'version' | 'listed'> {
  readonly events: Pick<ConnectionEvents, 'changed' | 'failed' | 'notified'>;
  readonly sessionLogs: SessionLogs;
  readonly isAlone: boolean;
}

/** Before a call that could not be sent is given up. */
const reconnectTimeout = '5s';
/** Upstreams whose task asks before they have said that it is one. */
const attributionMs = 5_000;

export class Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  /** Was it known what it lists before it was asked? */
  readonly isKnown: boolean;
  readonly logs: UpstreamLogs;
  readonly connection: UpstreamConnection;
  /** Limits the concurrent calls of the tools that have a limit of their own. */
  readonly slots: ReadonlyMap<string, Semaphore>;
  /** There is no other. */
  readonly isAlone: boolean;
  /** Calls are remembered by their tasks; here only while they are under way. */
  readonly #handles = callRegistryInMemory((record) => record);
  /** By the key that the call was made with. */
  readonly #drives = new Map<string, UpstreamCall>();
  readonly #attribution = new Attribution();

  constructor(name: string, config: UpstreamConfig, parts: UpstreamParts) {
    this.name = name;
    this.config = config;
    this.isKnown = parts.listed !== undefined;
    this.isAlone = parts.isAlone;
    const limits = Object.entries(config.tools).flatMap(([tool, { concurrency }]) =>
      concurrency === undefined ? [] : [[tool, new Semaphore(concurrency)] as const],
    );
    this.slots = new Map(limits);
    this.connection = new UpstreamConnection({
      ...parts,
      name,
      target: config.target,
      handles: this.#handles,
      answer: async (question, signal) => (await this.#askingDrive(question)).ask(question, signal),
      events: {
        ...parts.events,
        logged: (params, key = '') => this.logs.logged(params, this.#drives.get(key)),
        opened: () => void this.logs.ask(),
      },
    });
    this.logs = new UpstreamLogs(this, parts.sessionLogs);
  }

  get drives(): readonly UpstreamCall[] {
    return [...this.#drives.values()];
  }

  get listed(): Listed {
    return this.connection.listed;
  }

  has(capability: string): boolean {
    return isJsonObject(this.listed.capabilities[capability]);
  }

  // --- What it says of its tools --------------------------------------------------------------------------

  policy(tool: string): Policy {
    const { policy, tools } = this.config;
    return { ...policy, ...(Object.hasOwn(tools, tool) && tools[tool]) };
  }

  /** Does it do no harm if the tool is called twice? */
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

  /** Sends a call. */
  send(drive: UpstreamCall, { name, arguments: input }: Call, idempotencyKey: string): void {
    void drive.start(this, async (signal) => {
      await this.#attribution.settled;
      this.#drives.set(idempotencyKey, drive);
      const client = await this.connection.ready();
      const _meta = await this.logs.metaFor(drive);
      const params = { name, arguments: input, ...(_meta && { _meta }) };
      return client.start('tools/call', params, {
        signal,
        idempotencyKey,
        cancelOnAbort: true,
        reconnectTimeout,
        answer: (question, over) => drive.ask(question, over),
        onProgress: (progress) => drive.progress(progress),
      });
    });
  }

  /** Goes back to a task that an earlier process, or an earlier pass, has met. False if that is not possible. */
  resume(drive: UpstreamCall, call: Call, remote: RemoteTaskEvent): boolean {
    // A process of ours ended with us.
    if ('command' in this.config.target && remote.instance !== this.connection.instance) return false;
    const record = recordOf(this.name, call, remote);
    const begin = async () => {
      this.#drives.set(record.id, drive);
      const client = await this.connection.clientOf(remote.session);
      this.#handles.save(record);
      return client.resume(record.id, { answer: (question, over) => drive.ask(question, over) });
    };
    void drive.start(this, begin, true);
    return true;
  }

  /** What has to be known of a task to come back to it. */
  remoteOf(handle: TaskHandle): RemoteTaskEvent {
    const { instance, session } = this.connection;
    const dialect = this.#handles.get(handle.id)?.dialect ?? '';
    return { type: 'task', taskId: handle.taskId!, dialect, instance, ...(session && { session }) };
  }

  /** The call has ended, or nobody waits for it any more. */
  left(drive: UpstreamCall): void {
    for (const [key, other] of this.#drives) if (other === drive) this.#drives.delete(key);
    this.#attribution.look();
    if (drive.handle) this.#handles.delete(drive.handle.id);
  }

  // --- Questions ------------------------------------------------------------------------------------------

  /** What is asked by a request of its own says at most which task asks it. */
  async #askingDrive({ taskId }: Question): Promise<UpstreamCall> {
    if (taskId !== undefined) {
      const known = () => this.drives.find((drive) => drive.taskId === taskId);
      if (!known()) await within(attributionMs, Promise.all(this.drives.map(({ answered }) => answered)));
      const asking = known();
      if (asking) return asking;
    }
    return this.#attribution.onlyOne(() => {
      const idle = this.drives.filter(({ asking }) => asking === 0);
      const plain = idle.filter((drive) => drive.taskId === undefined);
      return plain.length > 0 ? plain : idle;
    });
  }
}

function recordOf(server: string, { name, arguments: input }: Call, remote: RemoteTaskEvent): CallRecord {
  const { dialect, taskId } = remote;
  const params = { name, arguments: input };
  return { ...newRecord({ server, method: 'tools/call', params }), dialect, taskId };
}

// --- Whose call asks --------------------------------------------------------------------------------------

/** How long is waited for only one to be left: before the question is refused, or the last call is taken for it. */
const patienceMs = { known: 30_000, anonymous: 2_000 };

export class NotAttributed extends HoldfastError {
  constructor() {
    super(
      'NOT_ATTRIBUTED',
      'Several callers have calls under way there, and it is not known which of them is asked.',
    );
  }
}

/** A question that waits to be attributed. */
interface Waiting {
  readonly look: () => void;
  /** The calls that other questions were attributed to while this one waited. */
  readonly taken: Set<UpstreamCall>;
}

/**
 * On a connection of 2025-11-25 a question says at most which task it belongs to; it could come from any of several
 * plain calls. If these are not all of one person, no further call begins until only one is left, which then is the one
 * that asks: people who are known are never asked in each other's place. Callers that nobody can tell apart share all
 * they have: after a while the last of their calls is taken, and questions that wait at the same time are taken to come
 * from different calls.
 */
export class Attribution {
  readonly #waiting = new Set<Waiting>();
  #settled: PromiseWithResolvers<void> | undefined;

  /** Resolves when no question waits to be attributed. */
  get settled(): Promise<void> | undefined {
    return this.#settled?.promise;
  }

  /** A call has ended. */
  look(): void {
    for (const { look } of this.#waiting) look();
  }

  /** The one of the candidates, the last to begin at the end, that asks. */
  async onlyOne(candidates: () => readonly UpstreamCall[]): Promise<UpstreamCall> {
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamCall>();
    const look = () => {
      const [first, ...others] = candidates();
      if (!first) reject(new NotAttributed());
      else if (others.length === 0 || isOneKnown([first, ...others])) resolve(others.at(-1) ?? first);
    };
    const waiting: Waiting = { look, taken: new Set() };
    const timers = [
      runtime.setTimeout(() => reject(new NotAttributed()), patienceMs.known),
      runtime.setTimeout(() => {
        const left = candidates();
        const last = left.findLast((drive) => !waiting.taken.has(drive)) ?? left.at(-1);
        if (!last || left.some(({ owner }) => owner !== anonymous)) return;
        for (const { taken } of this.#waiting) taken.add(last);
        resolve(last);
      }, patienceMs.anonymous),
    ];
    this.#settled ??= Promise.withResolvers();
    this.#waiting.add(waiting);
    look();
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

/** Of one person's calls the last is as good as any: the same person is asked. */
function isOneKnown(candidates: readonly UpstreamCall[]): boolean {
  const [owner, ...others] = new Set(candidates.map((drive) => drive.owner));
  return others.length === 0 && owner !== anonymous;
}
