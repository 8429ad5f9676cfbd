import './check-node.ts';

// For everyone who meets a task.

// For authors of stores.
export type { Change, Family, Lineage, TaskWrite, Verdict } from './engine/change.ts';
export type { Claim, Database, Offer, Queue, ToolVersion } from './engine/queue.ts';
export type { CommitNotice, IdempotencyScope, ListQuery, Page, Reach, Store } from './engine/store.ts';
export {
  StoreBusy,
  StoreClosed,
  StoreCorrupt,
  StoreError,
  StoreFull,
  StoreNotOpened,
  StoreReadOnly,
  StoreTooNew,
} from './engine/store-errors.ts';
export type { Clock } from './model/clock.ts';
export type { Duration } from './model/duration.ts';
export { InvalidDuration } from './model/duration.ts';
export {
  BadAnswer,
  ClaimLost,
  DeadlineNotReached,
  HoldfastError,
  IdempotencyKeyReused,
  NotARoot,
  NotClaimable,
  Refusal,
  StillAlive,
  StillRetained,
  TaskIsDone,
  TaskIsEnding,
  TaskMoved,
  TaskNotFound,
} from './model/errors.ts';
export type { TaskEvent } from './model/event.ts';
export type { InputRecord, InputRequest, InputResponse } from './model/input.ts';
export type { Json, JsonObject } from './model/json.ts';
export type { Failed, Outcome, Success } from './model/outcome.ts';
export type { Retention } from './model/retention.ts';
export type {
  ActiveTask,
  DoneTask,
  Holder,
  NewTask,
  Origin,
  Phase,
  Progress,
  Task,
  TaskId,
} from './model/task.ts';
