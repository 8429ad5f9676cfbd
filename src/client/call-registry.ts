/**
 * The port of a registry of handles: what a host must remember to come back to its calls after it was killed. Every
 * write is durable when it returns, and synchronous, so that nothing can come between a decision and its record.
 * `testCallRegistry()` in `holdfast/testing` examines every implementation.
 */
import { newId } from '../model/id.ts';
import type { JsonObject } from '../model/json.ts';
import type { RemoteOutcome } from '../remote-tasks/remote-outcome.ts';
import { runtime } from '../runtime/runtime.ts';

export interface CallRecord {
  /** Ours, and good for a life: what a host writes down to come back. */
  readonly id: string;
  /** Whose task it is: the name under which a host knows the server. */
  readonly server: string;
  /** How the server is reached again, in the words of whoever made the call. Never a secret. */
  readonly target?: JsonObject;
  readonly method: string;
  readonly params: JsonObject;
  /** With which the call can be sent again without being carried out twice, if the server knows such keys. */
  readonly idempotencyKey: string;
  readonly createdAt: number;
  /** In which words the server speaks of it. */
  readonly dialect?: string;
  readonly taskId?: string;
  /** Answers to its questions, by task and key. */
  readonly answers: Readonly<Record<string, JsonObject>>;
  readonly ending?: RemoteOutcome;
  /** The host has been given the outcome. */
  readonly isDelivered: boolean;
}

/** The record of a call that begins now. */
export function newRecord(call: Pick<CallRecord, 'server' | 'method' | 'params'>): CallRecord {
  const [id, idempotencyKey] = [newId(), newId()];
  return { id, idempotencyKey, createdAt: runtime.now(), answers: {}, isDelivered: false, ...call };
}

export interface CallRegistry {
  save(record: CallRecord): void;
  get(id: string): CallRecord | undefined;
  /** Those of one server, or all; the oldest first. */
  list(query?: { readonly server?: string; readonly onlyOpen?: boolean }): CallRecord[];
  delete(id: string): void;
  close(): void;
}

/** Forgets everything with its process. */
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
