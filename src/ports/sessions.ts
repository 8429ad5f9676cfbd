/** The port for sessions of peers, which outlive the process that opened them. `testSessions()` examines it. */
import type { JsonObject } from '../model/json.ts';
import type { Owner } from '../model/task.ts';

export interface SessionRecord {
  readonly id: string;
  readonly owner: Owner;
  /** What the peer said when it opened the session, and what else must be known to open it again. */
  readonly opening: JsonObject;
  readonly seenAt: number;
}

export interface Sessions {
  /** Writes a session, or the later state of one. Whose it is does not change. */
  save(session: SessionRecord): Promise<void>;
  get(id: string): Promise<SessionRecord | undefined>;
  delete(id: string): Promise<void>;
  /** Forgets those that were last seen before that moment. */
  forget(seenBefore: number): Promise<void>;
}
