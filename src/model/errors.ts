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
  /** Errors that only logs and callers see, and errors of `holdfast/testing`. */
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

/** Every error that Holdfast throws on purpose. The message is a sentence for people, the code is for programs. */
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

/** The program is wrong: an option, the definition of a tool, or an argument of a method. */
export class InvalidOptions extends HoldfastError {
  declare readonly code: OptionsCode;

  constructor(code: OptionsCode, message: string) {
    super(code, message);
  }
}

/** A value cannot be kept, or there are too many of them. A handler may catch this and do without. */
export class InvalidValue extends HoldfastError {
  declare readonly code: ValueCode;

  constructor(code: ValueCode, message: string) {
    super(code, message);
  }
}

/** What the engine relies on fails. The message is for whoever runs it, and may say where; callers are told less. */
export abstract class Unavailable extends HoldfastError {
  abstract get forCallers(): string;
}

/** A command that the rules do not allow in the task's present state. Nothing was changed. */
export class Refusal extends HoldfastError {
  declare readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(code, message);
  }
}

/** The refusal with this code, in words. */
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
  TASK_IS_DONE: (taskId: string) => `Task ${taskId} is done, and a task that is done never changes again.`,
  /** The handler has ended and the task only waits for its subtasks. */
  TASK_IS_ENDING: (taskId: string) =>
    `The handler of task ${taskId} has ended; the task only waits for its subtasks.`,
  /** The worker that sent the command no longer holds the task. It must stop its pass and touch nothing. */
  CLAIM_LOST: (taskId: string, epoch: number, currentEpoch: number) =>
    `Claim ${epoch} on task ${taskId} was lost: claim ${currentEpoch} has taken its place.`,
  /** There is nothing to claim. */
  NOT_CLAIMABLE: (
    taskId: string,
    reason: 'done' | 'parked' | 'held by a living worker' | 'still running in this process',
  ) => `Task ${taskId} cannot be claimed now: it is ${reason}.`,
  /** The task changed since the worker last read it; parking now could miss a wake-up. */
  TASK_MOVED: (taskId: string, seenVersion: number, version: number) =>
    `Task ${taskId} moved from version ${seenVersion} to ${version} while its worker was about to park it.`,
  BAD_ANSWER: (key: string, problem: string) =>
    `The answer to "${key}" does not fit the question: ${problem}. No answer was applied.`,
  /** Another process is already delivering the question to a person. */
  BEING_DELIVERED: (key: string) => `The question "${key}" is being delivered on another stream.`,
  QUESTION_NOT_OPEN: (taskId: string, key: string) =>
    `Task ${taskId} has no open question "${key}": it was answered or withdrawn, or never asked.`,
  IDEMPOTENCY_KEY_REUSED: (idempotencyKey: string) =>
    `The idempotency key "${idempotencyKey}" already belongs to a task with other arguments. Use a new key for new work.`,
  /** The requestor named a task that it has named before. */
  TASK_EXISTS: (taskId: string) =>
    `Task ID already exists: ${taskId}. The request that first used it is being carried out, or was.`,
  /** Its id has been sent, so that it no longer belongs to the request that created it. */
  ALREADY_PUBLISHED: (taskId: string) => `Task ${taskId} has been published: only its own rules end it now.`,
  NOT_A_ROOT: (taskId: string, rootId: string) =>
    `Task ${taskId} is a subtask and goes only together with its whole tree, whose root is ${rootId}.`,
  STILL_RETAINED: (taskId: string, until: number | null) =>
    until === null
      ? `Task ${taskId} is kept without limit.`
      : `Task ${taskId} is kept until ${new Date(until).toISOString()}.`,
  STILL_ALIVE: (taskId: string) => `Task ${taskId} is not done, and retention never ends live work.`,
  DEADLINE_NOT_REACHED: (taskId: string, deadlineAt: number | null) =>
    deadlineAt === null
      ? `Task ${taskId} has no deadline.`
      : `The deadline of task ${taskId} is only at ${new Date(deadlineAt).toISOString()}.`,
  NOT_RETRYABLE: (taskId: string, standing: string) =>
    standing === 'completed'
      ? `Task ${taskId} has completed. Only what failed, was lost or was cancelled can be retried.`
      : `Task ${taskId} is ${standing}: cancel it first, or wait for its end. Only what failed, was lost or was cancelled can be retried.`,
  GIVEN_UP: () => 'The caller no longer waits for this command.',
} satisfies Record<RefusalCode, (...about: never[]) => string>;

/** Whether this is an error of Holdfast with one of these codes. Anything can be thrown: proxies may throw, too. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is HoldfastError {
  return attempted(() => error instanceof HoldfastError && codes.includes(error.code)) === true;
}

/** For `promise.catch`: resolves to undefined if the error has one of these codes. */
export function ignoring(...codes: readonly ErrorCode[]) {
  return (error: unknown): undefined => {
    if (!hasCode(error, ...codes)) throw error;
  };
}

/** For `promise.catch`: resolves to undefined if the command was refused. */
export function ignoringRefusals(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error;
}
