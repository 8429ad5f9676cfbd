import './check-node.ts';

// For authors of tools, resources and prompts.
export { createTasks, Tasks } from './server/tasks.ts';
export type { TasksOptions } from './server/tasks.ts';
export { AttachedTooLate } from './server/attach.ts';
export { InvalidPlainClients, ToolNameTaken } from './server/hand-over/options.ts';
export type { AttachOptions, HandOverOptions } from './server/hand-over/options.ts';
export { UnknownDraft } from './server/binding.ts';
export { type Limits, InvalidLimit } from './hosting/limits.ts';
export { type Bounds, OutOfBounds } from './engine/bounds.ts';
export { DuplicateTool, UnknownTool } from './engine/tasks.ts';
export { type CreateOptions, StoreTooSmall, type WorkOptions } from './engine/tasks-options.ts';
export type { AuditLog } from './engine/audit-log.ts';
export type { Log, LogEntry } from './engine/log.ts';
export type { Fullness, ObservedCall, ObservedPass, Observer, Suspicion } from './engine/observer.ts';
export type { Worker } from './engine/worker.ts';
export { durableTool, InvalidTool } from './engine/tool.ts';
export type {
  DurableOptions,
  DurableTool,
  Handler,
  RequestMethod,
  TaskSetting,
  ToolAnnotations,
  ToolOptions,
} from './engine/tool.ts';
export { durableResource } from './engine/resource.ts';
export type {
  DurableResource,
  ResourceContents,
  ResourceHandler,
  ResourceInput,
  ResourceOptions,
  ResourceRead,
  ResourceResult,
} from './engine/resource.ts';
export { durablePrompt } from './engine/prompt.ts';
export type {
  DurablePrompt,
  PromptHandler,
  PromptMessage,
  PromptOptions,
  PromptResult,
} from './engine/prompt.ts';
export { SubtaskOfAnotherKind } from './engine/context.ts';
export type {
  AnswerTo,
  EventOptions,
  FormQuestion,
  Patience,
  Question,
  RootsQuestion,
  SamplingQuestion,
  StepOptions,
  Subtask,
  TaskContext,
  UrlQuestion,
} from './engine/context.ts';
export type { StepContext } from './engine/call.ts';
export { InvalidCall } from './engine/given.ts';
export type { Retry } from './engine/retry.ts';
export type { Schema } from './engine/schema.ts';
export type { StructuredResult, ToolResult } from './engine/tool-result.ts';
export { HandlerRefused } from './engine/replay.ts';
export { NotJson, ValueTooLarge } from './engine/carried.ts';
export {
  AskTimedOut,
  CannotBeAsked,
  InvalidInput,
  ProtocolError,
  StepTimedOut,
  SubtaskCancelled,
  SubtaskFailed,
  SubtaskLost,
  TerminalError,
  WaitTimedOut,
} from './engine/recorded-error.ts';

// For everyone who meets a task.
export type { Clock } from './model/clock.ts';
export type { Duration } from './model/duration.ts';
export { InvalidDuration } from './model/duration.ts';
export { type SecretFields, InvalidSecret, redactTask, redactValue } from './model/redaction.ts';
export { type Size, InvalidSize } from './model/duration.ts';
export {
  AlreadyPublished,
  BadAnswer,
  BeingDelivered,
  ClaimLost,
  DeadlineNotReached,
  HoldfastError,
  IdempotencyKeyReused,
  NameTooLong,
  NotARoot,
  NotClaimable,
  Refusal,
  StillAlive,
  StillRetained,
  TaskExists,
  TaskIsDone,
  TaskIsEnding,
  TaskMoved,
  TaskNotFound,
} from './model/errors.ts';
export type { TaskEvent } from './model/event.ts';
export type {
  Answer,
  FormAnswer,
  InputKind,
  InputRecord,
  InputRequest,
  InputResponse,
  RootsAnswer,
  UrlAnswer,
} from './model/input.ts';
export type { HasNoJsonForm, Json, Jsonify, JsonObject } from './model/json.ts';
export type { Failed, Outcome, Success } from './model/outcome.ts';
export type { Retention } from './model/retention.ts';
export type {
  ActiveTask,
  DoneTask,
  Holder,
  Join,
  NewTask,
  Origin,
  Phase,
  Progress,
  Task,
  TaskId,
  Unpublished,
} from './model/task.ts';
export type {
  SamplingAnswer,
  SamplingContent,
  SamplingMessage,
  SamplingRequest,
} from './model/sampling.ts';
export type { TaskTrace } from './model/trace.ts';

// For authors of stores.
export type { Change, Family, Lineage, Removal, TaskWrite, Verdict } from './engine/change.ts';
export type { Backlog, Claim, Database, FreedHolder, Queue, Secrets, ToolVersion } from './engine/queue.ts';
export type { Actor, Audit, AuditAction, AuditEntry, AuditPage, AuditQuery } from './engine/audit.ts';
export type { Calls, UndeliveredCall } from './engine/calls.ts';
export type { SessionRecord, Sessions } from './engine/sessions.ts';
export type {
  ClaimedChange,
  ClaimQuery,
  ClaimRule,
  Claims,
  CommitNotice,
  Due,
  IdempotencyScope,
  ListQuery,
  Page,
  Reach,
  Store,
} from './engine/store.ts';
export {
  StoreBusy,
  StoreClosed,
  StoreCorrupt,
  StoreError,
  StoreFull,
  StoreNotOpened,
  StoreNotUnlocked,
  StoreReadOnly,
  StoreSilent,
  StoreTooNew,
  TaskDamaged,
} from './engine/store-errors.ts';
