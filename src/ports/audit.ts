/**
 * The port for the audit log. Entries record who did what to which task, and when. They never contain arguments,
 * questions, answers or results.
 *
 * Entries that belong to a commit are in `Change.audit`: the store writes them in the transaction of that commit. All
 * others arrive through `append`. An entry never changes, is not deleted before its retention ends, and outlives its
 * task. `testAudit()` in `holdfast/store/testing` tests every implementation.
 */
import type { JsonObject } from '../model/json.ts';
import type { Owner, TaskId } from '../model/task.ts';

/**
 * - `created`, `ended` (with the outcome), `cancelled`, `answered`: the task changed
 * - `result-read`: a caller read the outcome
 * - `deleted`: a caller or operator deleted the tree
 * - `expired`: housekeeping removed the tree, because its retention ended or the store was full
 * - `denied`: the caller does not own the task, the task does not exist, or the token is not valid
 * - `limited`: the owner exceeded a limit
 * - `operator`: any other action from outside the protocol
 * - `omitted`: entries could not be written; `times` is their number
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

/** Who acts, as far as it is known. */
export interface Actor {
  /** `operator`: the operator API without an owner, or code that uses the `Tasks` object directly. */
  readonly by: 'caller' | 'operator';
  readonly dialect?: string;
  /** Distinguishes sessions. Not the session id itself, because that id may be enough to use the session. */
  readonly session?: string;
}

export interface AuditEntry extends Omit<Actor, 'by'> {
  readonly at: number;
  readonly action: AuditAction;
  /** The owner of the task, or the caller that was refused. Null if unknown. */
  readonly owner: Owner | null;
  readonly taskId: TaskId | null;
  readonly by: Actor['by'] | 'engine';
  readonly tool?: string;
  readonly reason?: string;
  /** How many times it happened. Absent means once. */
  readonly times?: number;
  readonly details?: JsonObject;
}

export interface AuditQuery {
  readonly taskId?: TaskId;
  readonly owner?: Owner;
  readonly action?: AuditAction;
  /** Entries written at this time or later. */
  readonly since?: number;
  /** Entries written before this time. */
  readonly until?: number;
}

export interface AuditPage {
  /** In the order in which they were written. */
  readonly entries: readonly AuditEntry[];
  /** Present if there may be more entries. A page can be short or empty without being the last one. */
  readonly nextCursor?: string;
}

export interface Audit {
  /** Writes entries that do not belong to a commit. */
  append(entries: readonly AuditEntry[]): Promise<void>;

  /** Returns the entries that match all fields of the query, oldest first. */
  read(query: AuditQuery & { readonly limit: number; readonly cursor?: string }): Promise<AuditPage>;

  /** Deletes up to `limit` entries written before `before`. Returns how many it deleted. */
  prune(before: number, limit: number): Promise<number>;
}
