/**
 * The port for sessions of peers. A session outlives the process that opened it. `testSessions()` in
 * `holdfast/store/testing` tests every implementation.
 */
import type { JsonObject } from '../model/json.ts';
import type { Owner } from '../model/task.ts';

export interface SessionRecord {
  readonly id: string;
  readonly owner: Owner;
  /** What another process needs to resume the session, such as the peer's `initialize` params. */
  readonly opening: JsonObject;
  /** When the peer last used the session. */
  readonly seenAt: number;
}

export interface Sessions {
  /** Creates the session, or updates it. The owner never changes. */
  save(session: SessionRecord): Promise<void>;
  get(id: string): Promise<SessionRecord | undefined>;
  delete(id: string): Promise<void>;
  /** Deletes the sessions that were last used before `seenBefore`. */
  forget(seenBefore: number): Promise<void>;
}
