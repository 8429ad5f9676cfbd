/**
 * The port of the audit log: what happened to whose tasks, and on whose behalf. It says who and when, never what was
 * sent, asked, answered or returned. What belongs to a commit travels in its `Change`, and the store writes it in the
 * same transaction; everything else is appended. No entry ever changes, and none goes before its retention is over.
 * Entries outlive the task that they tell of. `testAudit()` in `holdfast/testing` examines every implementation.
 */
import type { JsonObject } from '../model/json.ts';
import type { Owner, TaskId } from '../model/task.ts';

/**
 * - `created`, `ended` (with how), `cancelled`, `answered`: what happened to a task
 * - `result-read`: its outcome was given to a caller
 * - `deleted`, `expired`: a tree was removed because somebody wanted it so, or because its retention was over
 * - `denied`: somebody asked for a task that is not theirs or not there, or came without a good token
 * - `limited`: an owner asked for more than its limits allow
 * - `operator`: something else that was done from outside the protocol
 * - `omitted`: so many entries could not be written
 */
export const auditActions = [
  'created',
  'ended',
  'cancelled',
  'answered',
  'result-read',
  'deleted',
  'expired',
  'denied',
  'limited',
  'operator',
  'omitted',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** On whose behalf something is done, as far as it is known. */
export interface Actor {
  /** `operator`: whoever has the `Tasks` object in hand, outside the protocol. */
  readonly by: 'caller' | 'operator';
  readonly dialect?: string;
  /** Tells sessions apart, and is not the session's id, which may be all that it takes to enter it. */
  readonly session?: string;
}

export interface AuditEntry extends Omit<Actor, 'by'> {
  readonly at: number;
  readonly action: AuditAction;
  /** Whose task it is, or who was refused; null if nobody knows. */
  readonly owner: Owner | null;
  readonly taskId: TaskId | null;
  readonly by: Actor['by'] | 'engine';
  readonly tool?: string;
  readonly reason?: string;
  /** How often it happened, if more than once. */
  readonly times?: number;
  readonly details?: JsonObject;
}

export interface AuditQuery {
  readonly taskId?: TaskId;
  readonly owner?: Owner;
  readonly action?: AuditAction;
  /** From this moment on. */
  readonly since?: number;
  /** Before this moment. */
  readonly until?: number;
}

export interface AuditPage {
  /** In the order in which they were written. */
  readonly entries: readonly AuditEntry[];
  /** Present if there may be more; a page may be short, or empty, and not be the last. */
  readonly nextCursor?: string;
}

export interface Audit {
  append(entries: readonly AuditEntry[]): Promise<void>;
  read(query: AuditQuery & { readonly limit: number; readonly cursor?: string }): Promise<AuditPage>;
  /** Removes entries from before that moment, at most so many; says how many they were. */
  prune(before: number, limit: number): Promise<number>;
}
