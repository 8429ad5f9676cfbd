import './check-node.ts';

// For authors of stores: every port of a `Database`, with the errors that its functions throw.
export type { Actor, Audit, AuditAction, AuditEntry, AuditPage, AuditQuery } from './engine/audit.ts';
export type { Calls, OpenCall, UndeliveredCall } from './engine/calls.ts';
export type { Change, Family, Lineage, Removal, TaskWrite, Verdict } from './engine/change.ts';
export type {
  Backlog,
  Claim,
  Claimed,
  Database,
  FreedHolder,
  Queue,
  Secrets,
  ToolVersion,
} from './engine/queue.ts';
export type { SessionRecord, Sessions } from './engine/sessions.ts';
export type {
  ClaimedChange,
  ClaimQuery,
  ClaimRule,
  Claims,
  CommitNotice,
  CommitOfTask,
  Due,
  IdempotencyScope,
  ListQuery,
  Page,
  Reach,
  Store,
} from './engine/store.ts';
export { StoreError, type StoreTrouble, TaskDamaged } from './engine/store-errors.ts';
export type {
  DamagedTask,
  Durations,
  EndedCounts,
  HistoryCommit,
  HistoryPage,
  LiveCounts,
  Overview,
  OverviewQuery,
  Survey,
  SurveyCount,
  SurveyFilter,
  SurveyPage,
} from './engine/survey.ts';
export { Refusal, type RefusalCode, refusal, type StoreErrorCode } from './model/errors.ts';
