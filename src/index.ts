import './check-node.ts';

// For authors of tools, resources and prompts.
export { createTasks, Tasks } from './server/tasks.ts';
export type { TasksOptions } from './server/tasks.ts';
export type { AttachOptions, HandOverOptions } from './server/hand-over/options.ts';
export type { Limits } from './task-methods/limits.ts';
export type { TaskLimits } from './engine/rules/limits.ts';
export type { CreateOptions, WorkOptions } from './engine/tasks-options.ts';
export type { AuditLog } from './engine/database/audit-log.ts';
export type { Log, LogEntry } from './engine/log.ts';
export type { Fullness, ObservedCall, ObservedPass, Observer, Suspicion } from './ports/observer.ts';
export type { Worker } from './engine/worker/worker.ts';
export { durableTool } from './engine/handlers/tool.ts';
export type {
  DurableOptions,
  DurableTool,
  Handler,
  RequestMethod,
  TaskSetting,
  ToolAnnotations,
  ToolOptions,
} from './engine/handlers/tool.ts';
export { durableResource } from './engine/handlers/resource.ts';
export type {
  DurableResource,
  ResourceContents,
  ResourceHandler,
  ResourceInput,
  ResourceOptions,
  ResourceRead,
  ResourceResult,
} from './engine/handlers/resource.ts';
export { durablePrompt } from './engine/handlers/prompt.ts';
export type {
  DurablePrompt,
  PromptHandler,
  PromptMessage,
  PromptOptions,
  PromptResult,
} from './engine/handlers/prompt.ts';
export type {
  AnswerTo,
  EventOptions,
  FormQuestion,
  WaitOptions,
  Question,
  RootsQuestion,
  SamplingQuestion,
  StepOptions,
  Subtask,
  TaskContext,
  UrlQuestion,
} from './engine/handlers/context.ts';
export type { StepContext } from './engine/replay/call.ts';
export type { Retry } from './engine/replay/step-retry.ts';
export type { Schema } from './engine/handlers/schema.ts';
export type { StructuredResult, ToolResult } from './engine/handlers/tool-result.ts';
export { HandlerRefused } from './engine/replay/comparison.ts';
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
} from './engine/replay/recorded-error.ts';

// For all code that handles tasks.
export type { Clock } from './runtime/clock.ts';
export type { Duration } from './model/duration.ts';
export { type SecretFields, redactTask, redactValue } from './model/redaction.ts';
export type { Size } from './model/duration.ts';
export { type ErrorCode, HoldfastError, InvalidOptions, InvalidValue, Refusal } from './model/errors.ts';
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
  TaskWorker,
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

// Types that `createTasks` takes and reports.
export type { Actor, AuditAction, AuditEntry, AuditPage, AuditQuery } from './ports/audit.ts';
export type { Database } from './ports/queue.ts';
export { StoreError } from './ports/store-errors.ts';
