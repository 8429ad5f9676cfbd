import './check-node.ts';

export { Refusal, type RefusalCode, refusal, type StoreErrorCode } from './model/errors.ts';
// For authors of stores: all ports of a `Database`, and the errors that they throw.
export type { Actor, Audit, AuditAction, AuditEntry, AuditPage, AuditQuery } from './ports/audit.ts';
export type { Calls, OpenCall, UndeliveredCall } from './ports/calls.ts';
export type { Change, Family, Lineage, Removal, TaskWrite, Verdict } from './ports/change.ts';
export type {
  CorruptTask,
  Durations,
  EndedCounts,
  HistoryCommit,
  HistoryPage,
  LiveCounts,
  Overview,
  OverviewQuery,
  QueryPage,
  TaskCount,
  TaskFilter,
  TaskQueries,
} from './ports/query.ts';
export type {
  Backlog,
  Claim,
  Claimed,
  Database,
  FreedWorker,
  Queue,
  Secrets,
  ToolVersion,
} from './ports/queue.ts';
export type { SessionRecord, Sessions } from './ports/sessions.ts';
export type {
  ClaimedChange,
  ClaimQuery,
  ClaimRule,
  Claims,
  CommitOfTask,
  CommittedChange,
  Due,
  IdempotencyScope,
  ListQuery,
  Page,
  Reach,
  Store,
} from './ports/store.ts';
export { StoreError, type StoreTrouble, TaskCorrupt } from './ports/store-errors.ts';
