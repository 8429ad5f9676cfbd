import { attempted } from './thrown.ts';

/**
 * Every code of a Holdfast error, by the class that carries it. Codes are stable: programs may depend on them, and
 * docs/errors.md explains each one.
 */
export const errorCodes = {
  InvalidOptions: [
    'ATTACHED_TOO_LATE',
    'DUPLICATE_TOOL',
    'INVALID_CALL',
    'INVALID_CONFIG',
    'INVALID_DURATION',
    'INVALID_LIMIT',
    'INVALID_PLAIN_CLIENTS',
    'INVALID_SECRET',
    'INVALID_SIZE',
    'INVALID_TOKEN_OPTIONS',
    'INVALID_TOOL',
    'OPERATOR_EXPOSED',
    'STORE_TOO_SMALL',
    'SUBTASK_OF_ANOTHER_KIND',
    'TELEMETRY_MISSING',
    'TOOL_NAME_TAKEN',
    'UNKNOWN_DRAFT',
    'UNKNOWN_LOCATION',
    'UNKNOWN_TOOL',
  ],
  InvalidValue: ['INVALID_RESULT', 'NAME_TOO_LONG', 'NOT_JSON', 'OUT_OF_BOUNDS', 'VALUE_TOO_LARGE'],
  HandlerRefused: ['HANDLER_REFUSED'],
  Refusal: [
    'ALREADY_PUBLISHED',
    'BAD_ANSWER',
    'BEING_DELIVERED',
    'CLAIM_LOST',
    'DEADLINE_NOT_REACHED',
    'GIVEN_UP',
    'IDEMPOTENCY_KEY_REUSED',
    'NOT_A_ROOT',
    'NOT_CLAIMABLE',
    'NOT_RETRYABLE',
    'QUESTION_NOT_OPEN',
    'STILL_ALIVE',
    'STILL_RETAINED',
    'TASK_EXISTS',
    'TASK_IS_DONE',
    'TASK_IS_ENDING',
    'TASK_MOVED',
    'TASK_NOT_FOUND',
  ],
  StoreError: [
    'COMMIT_UNKNOWN',
    'STORE_BUSY',
    'STORE_CLOSED',
    'STORE_CORRUPT',
    'STORE_FAILED',
    'STORE_FULL',
    'STORE_NOT_OPENED',
    'STORE_NOT_UNLOCKED',
    'STORE_READ_ONLY',
    'STORE_TIMED_OUT',
    'STORE_TOO_NEW',
    'TASK_CORRUPT',
  ],
  TerminalError: ['TERMINAL_ERROR'],
  ProtocolError: ['PROTOCOL_ERROR'],
  InvalidInput: ['INVALID_INPUT'],
  CannotBeAsked: ['CANNOT_BE_ASKED'],
  StepTimedOut: ['STEP_TIMED_OUT'],
  AskTimedOut: ['ASK_TIMED_OUT'],
  WaitTimedOut: ['WAIT_TIMED_OUT'],
  SubtaskFailed: ['SUBTASK_FAILED'],
  SubtaskCancelled: ['SUBTASK_CANCELLED'],
  SubtaskLost: ['SUBTASK_LOST'],
  RemoteError: ['REMOTE_ERROR'],
  ConnectionLost: ['CONNECTION_LOST'],
  RequestTimedOut: ['REQUEST_TIMED_OUT'],
  MalformedAnswer: ['MALFORMED_ANSWER'],
  TaskFailed: ['TASK_FAILED'],
  TaskCancelled: ['TASK_CANCELLED'],
  TaskLost: ['TASK_LOST'],
  TaskExpired: ['TASK_EXPIRED'],
  TaskOverdue: ['TASK_OVERDUE'],
  UnknownQuestion: ['UNKNOWN_QUESTION'],
  ServerUnreachable: ['SERVER_UNREACHABLE'],
  Detached: ['DETACHED'],
  /** Errors that appear only in logs and in responses, and errors of `holdfast/testing`. */
  HoldfastError: [
    'ARGUMENT_REFUSED',
    'CALL_ENDED',
    'CALL_FAILED',
    'COMMAND_FAILED',
    'HTTP_REFUSED',
    'INVALID_CURSOR',
    'INVALID_PARAMS',
    'INVALID_QUERY',
    'INVALID_REQUEST_STATE',
    'LIMIT_REACHED',
    'MISSING_CAPABILITY',
    'NOTHING_LEFT_TO_WAIT_FOR',
    'NOT_ATTRIBUTED',
    'NOT_OFFERED',
    'NO_RESULT',
    'REQUEST_CANCELLED',
    'RESULT_NOT_RECORDED',
    'UNANSWERED_QUESTION',
    'UPSTREAM_UNREACHABLE',
    'WRONG_USAGE',
  ],
} as const;

type CodeOf<Class extends keyof typeof errorCodes> = (typeof errorCodes)[Class][number];
export type ErrorCode = CodeOf<keyof typeof errorCodes>;
export type OptionsCode = CodeOf<'InvalidOptions'>;
export type ValueCode = CodeOf<'InvalidValue'>;
export type RefusalCode = CodeOf<'Refusal'>;
export type StoreErrorCode = CodeOf<'StoreError'>;

/** The base class of all errors that Holdfast throws. The message is for people, the code is for programs. */
export class HoldfastError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  override get name(): string {
    return this.constructor.name;
  }
}

/** A mistake in the program: an option, the definition of a tool, or an argument of a method. */
export class InvalidOptions extends HoldfastError {
  declare readonly code: OptionsCode;

  constructor(code: OptionsCode, message: string) {
    super(code, message);
  }
}

/** A value cannot be stored, or there are too many of them. A handler may catch this error and continue. */
export class InvalidValue extends HoldfastError {
  declare readonly code: ValueCode;

  constructor(code: ValueCode, message: string) {
    super(code, message);
  }
}

/**
 * Something that the engine depends on fails. The message is for operators and may name the location. Callers get
 * `forCallers` instead.
 */
export abstract class Unavailable extends HoldfastError {
  abstract get forCallers(): string;
}

/** The rules do not allow the command in the task's current state. Nothing was changed. */
export class Refusal extends HoldfastError {
  declare readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(code, message);
  }
}

/** Creates the refusal with this code and its message. */
export function refusal<Code extends RefusalCode>(
  code: Code,
  ...about: Parameters<(typeof refusals)[Code]>
): Refusal {
  const message = refusals[code] as (...about: unknown[]) => string;
  return new Refusal(code, message(...about));
}

const refusals = {
  TASK_NOT_FOUND: (taskId: string) =>
    `There is no task ${taskId}. It may have been purged after its retention ended.`,
  TASK_IS_DONE: (taskId: string) => `Task ${taskId} is done and can no longer change.`,
  TASK_IS_ENDING: (taskId: string) =>
    `The handler of task ${taskId} has ended, and the task only waits for its subtasks.`,
  /** The worker that sent the command no longer has the claim. It must stop its pass and write nothing. */
  CLAIM_LOST: (taskId: string, epoch: number, currentEpoch: number) =>
    `Claim ${epoch} on task ${taskId} was lost: claim ${currentEpoch} has replaced it.`,
  NOT_CLAIMABLE: (
    taskId: string,
    reason: 'done' | 'parked' | 'held by a living worker' | 'still running in this process',
  ) => `Task ${taskId} cannot be claimed now: it is ${reason}.`,
  /** The task changed after the worker last read it. Parking it now could miss a wake-up. */
  TASK_MOVED: (taskId: string, seenVersion: number, version: number) =>
    `Task ${taskId} changed from version ${seenVersion} to ${version} before its worker could park it.`,
  BAD_ANSWER: (key: string, problem: string) =>
    `The answer to "${key}" does not fit the question: ${problem}. No answer was applied.`,
  /** Another process is already delivering the question to a person. */
  BEING_DELIVERED: (key: string) => `The question "${key}" is being delivered on another stream.`,
  QUESTION_NOT_OPEN: (taskId: string, key: string) =>
    `Task ${taskId} has no open question "${key}": it was answered or withdrawn, or never asked.`,
  IDEMPOTENCY_KEY_REUSED: (idempotencyKey: string) =>
    `The idempotency key "${idempotencyKey}" already belongs to a task with other arguments. Use a new key for new work.`,
  /** The caller chose the id of a task that already exists (SEP-1686). */
  TASK_EXISTS: (taskId: string) =>
    `Task ID already exists: ${taskId}. An earlier request created this task. Use a new id.`,
  /** The id of the task has been sent, so that the task no longer ends with the request that created it. */
  ALREADY_PUBLISHED: (taskId: string) =>
    `Task ${taskId} has been published, and no longer ends with its request.`,
  NOT_A_ROOT: (taskId: string, rootId: string) =>
    `Task ${taskId} is a subtask. It can only be removed with its whole tree; the root is ${rootId}.`,
  STILL_RETAINED: (taskId: string, until: number | null) =>
    until === null
      ? `Task ${taskId} is kept without limit.`
      : `Task ${taskId} is kept until ${new Date(until).toISOString()}.`,
  STILL_ALIVE: (taskId: string) => `Task ${taskId} is not done, and only finished tasks are removed.`,
  DEADLINE_NOT_REACHED: (taskId: string, deadlineAt: number | null) =>
    deadlineAt === null
      ? `Task ${taskId} has no deadline.`
      : `Task ${taskId} has not reached its deadline of ${new Date(deadlineAt).toISOString()}.`,
  NOT_RETRYABLE: (taskId: string, status: string) =>
    status === 'completed'
      ? `Task ${taskId} has completed. Only failed, lost and cancelled tasks can be retried.`
      : `Task ${taskId} is ${status}. Cancel it first, or wait until it ends. Only failed, lost and cancelled tasks can be retried.`,
  GIVEN_UP: () => 'The caller no longer waits for this command.',
} satisfies Record<RefusalCode, (...about: never[]) => string>;

/** True for a Holdfast error with one of these codes. Never throws, even for a proxy. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is HoldfastError {
  return attempted(() => error instanceof HoldfastError && codes.includes(error.code)) === true;
}

/** For `promise.catch`: returns undefined for an error with one of these codes, and throws every other error. */
export function ignoring(...codes: readonly ErrorCode[]) {
  return (error: unknown): undefined => {
    if (!hasCode(error, ...codes)) throw error;
  };
}

/** For `promise.catch`: returns undefined for a refusal, and throws every other error. */
export function ignoringRefusals(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error;
}
