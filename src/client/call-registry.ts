/**
 * The port of the call registry: the durable records that a host needs to resume its calls after a crash. Every write is
 * synchronous and durable when it returns, so that nothing can happen between a decision and its record.
 * `testCallRegistry()` in `holdfast/testing` tests an implementation.
 */
import { newId } from '../model/id.ts';
import type { JsonObject } from '../model/json.ts';
import type { RemoteOutcome } from '../remote-tasks/remote-outcome.ts';
import { runtime } from '../runtime/runtime.ts';

export interface CallRecord {
  /** The id of the handle. It never changes. */
  readonly id: string;
  /** The host's name for the server. */
  readonly server: string;
  /** How to connect to the server again, in the caller's own format. Must not contain secrets. */
  readonly target?: JsonObject;
  readonly method: string;
  readonly params: JsonObject;
  /** Prevents a second execution if the call is sent again. Only servers that support such keys honour it. */
  readonly idempotencyKey: string;
  /** In milliseconds since 1970. */
  readonly createdAt: number;
  /** The dialect of the task, if there is one. */
  readonly dialect?: string;
  /** The server's id of the task; absent if there is none yet. */
  readonly taskId?: string;
  /** Answers to the call's questions, by task and key. */
  readonly answers: Readonly<Record<string, JsonObject>>;
  /** The outcome; absent if it is not known yet. */
  readonly ending?: RemoteOutcome;
  /** True if the host has received the outcome. */
  readonly isDelivered: boolean;
}

/** The record of a new call. */
export function newRecord(call: Pick<CallRecord, 'server' | 'method' | 'params'>): CallRecord {
  const [id, idempotencyKey] = [newId(), newId()];
  return { id, idempotencyKey, createdAt: runtime.now(), answers: {}, isDelivered: false, ...call };
}

export interface CallRegistry {
  save(record: CallRecord): void;
  get(id: string): CallRecord | undefined;
  /**
   * The records of one server or of all, the oldest first. `onlyOpen` omits records whose outcome was delivered; a
   * finished call remains open until then.
   */
  list(query?: { readonly server?: string; readonly onlyOpen?: boolean }): CallRecord[];
  delete(id: string): void;
  close(): void;
}

/** Keeps records in memory. They are lost with the process. */
export function memoryCallRegistry(): CallRegistry {
  return callRegistryInMemory(structuredClone);
}

export function callRegistryInMemory(copied: (record: CallRecord) => CallRecord): CallRegistry {
  const records = new Map<string, CallRecord>();
  return {
    save: (record) => void records.set(record.id, copied(record)),
    get: (id) => (records.has(id) ? copied(records.get(id)!) : undefined),
    list: ({ server, onlyOpen = false } = {}) =>
      [...records.values()]
        .filter(
          (record) => (server === undefined || record.server === server) && !(onlyOpen && record.isDelivered),
        )
        .map((record) => copied(record)),
    delete: (id) => void records.delete(id),
    close: () => records.clear(),
  };
}
