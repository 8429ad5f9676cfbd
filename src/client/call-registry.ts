/**
 * The port of a registry of handles: what a host must remember to come back to its calls after it was killed. Every
 * write is durable when it returns, and synchronous, so that nothing can come between a decision and its record.
 * `testHandles()` in `holdfast/testing` examines every implementation.
 */
import { newId } from '../model/id.ts';
import type { JsonObject } from '../model/json.ts';
import type { Ending } from '../remote-tasks/remote-outcome.ts';
import { runtime } from '../runtime/runtime.ts';

export interface HandleRecord {
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
  readonly ending?: Ending;
  /** The host has been given the outcome. */
  readonly isDelivered: boolean;
}

/** The record of a call that begins now. */
export function newRecord(call: Pick<HandleRecord, 'server' | 'method' | 'params'>): HandleRecord {
  const [id, idempotencyKey] = [newId(), newId()];
  return { id, idempotencyKey, createdAt: runtime.now(), answers: {}, isDelivered: false, ...call };
}

export interface Handles {
  save(record: HandleRecord): void;
  get(id: string): HandleRecord | undefined;
  /** Those of one server, or all; the oldest first. */
  list(query?: { readonly server?: string; readonly onlyOpen?: boolean }): HandleRecord[];
  delete(id: string): void;
  close(): void;
}

/** Forgets everything with its process. */
export function memoryHandles(): Handles {
  return handlesInMemory(structuredClone);
}

export function handlesInMemory(copied: (record: HandleRecord) => HandleRecord): Handles {
  const records = new Map<string, HandleRecord>();
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
