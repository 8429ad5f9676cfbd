/** Errors of a caller that follows tasks of a peer. */
import { type ErrorCode, HoldfastError } from '../model/errors.ts';
import type { Json } from '../model/json.ts';

/** The peer answered a request with an error. */
export class RemoteError extends HoldfastError {
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  readonly data: Json | undefined;

  constructor({ code, message, data }: { code: number; message: string; data?: Json }) {
    super('REMOTE_ERROR', message);
    this.rpcCode = code;
    this.data = data;
  }
}

/** The request or its answer was lost. The request may or may not have been carried out. */
export class ConnectionLost extends HoldfastError {
  /** How long the peer asked to wait before a retry. */
  readonly retryAfterMs: number | undefined;
  /** The connection can no longer be used: its process has ended, or its session. */
  readonly isOver: boolean;
  /** The request was certainly not carried out. */
  readonly isUnsent: boolean;

  constructor(why: string, details: { retryAfterMs?: number; isOver?: boolean; isUnsent?: boolean } = {}) {
    super('CONNECTION_LOST', `The connection to the server was lost: ${why}`);
    this.retryAfterMs = details.retryAfterMs;
    this.isOver = details.isOver ?? false;
    this.isUnsent = details.isUnsent ?? false;
  }
}

/** The peer did not answer in time. */
export class RequestTimedOut extends HoldfastError {
  constructor(method: string, afterMs: number) {
    super('REQUEST_TIMED_OUT', `The server did not answer ${method} within ${afterMs} ms.`);
  }
}

/** The peer broke the protocol. The message describes how. */
export class MalformedAnswer extends HoldfastError {
  constructor(what: string) {
    super('MALFORMED_ANSWER', `The server broke the protocol: ${what}.`);
  }
}

/** An error that concerns one task of the peer. */
abstract class AboutTask extends HoldfastError {
  readonly taskId: string;

  constructor(code: ErrorCode, taskId: string, message: string) {
    super(code, message);
    this.taskId = taskId;
  }
}

/** The task ended with a protocol error. */
export class TaskFailed extends AboutTask {
  /** The JSON-RPC error code. */
  readonly rpcCode: number | undefined;
  readonly data: Json | undefined;

  constructor(taskId: string, { code, message, data }: { code?: number; message: string; data?: Json }) {
    super('TASK_FAILED', taskId, message);
    this.rpcCode = code;
    this.data = data;
  }
}

export class TaskCancelled extends AboutTask {
  constructor(taskId: string, reason: string | undefined) {
    super('TASK_CANCELLED', taskId, reason ?? `Task ${taskId} was cancelled.`);
  }
}

/** The outcome of the task can no longer be determined. */
export class TaskLost extends AboutTask {
  constructor(taskId: string, why: string) {
    super('TASK_LOST', taskId, `Task ${taskId} is lost: ${why}`);
  }
}

/** The server deleted the task after its ttl. */
export class TaskExpired extends AboutTask {
  constructor(taskId: string, ttlMs: number) {
    super(
      'TASK_EXPIRED',
      taskId,
      `Task ${taskId} has expired: the server deleted it after its ttl of ${ttlMs} ms.`,
    );
  }
}

/** The caller gave up waiting, because the server should have finished or deleted the task. The call can be resumed. */
export class TaskOverdue extends AboutTask {
  constructor(taskId: string, why: string) {
    super(
      'TASK_OVERDUE',
      taskId,
      `Task ${taskId} is overdue: ${why} The client has stopped waiting. Resume the call to try again.`,
    );
  }
}

/** The server asks a question of a kind that this client does not know. The task keeps waiting. */
export class UnknownQuestion extends HoldfastError {
  /** The method of the input request. */
  readonly method: string;

  constructor(taskId: string | undefined, method: string) {
    super(
      'UNKNOWN_QUESTION',
      taskId === undefined
        ? `The server asks a question of an unknown kind: "${method}". Use a client that knows this kind.`
        : `Task ${taskId} asks a question of an unknown kind, "${method}", and waits for the answer. Answer it with a client that knows this kind and then resume the call, or cancel the task.`,
    );
    this.method = method;
  }
}

/**
 * The caller gave up because the server could not be reached. The task may still be running; the call can be resumed.
 */
export class ServerUnreachable extends HoldfastError {
  constructor(forMs: number, last: string) {
    super(
      'SERVER_UNREACHABLE',
      `The server could not be reached for ${Math.round(forMs / 1_000)} s. ${last}`,
    );
  }
}

/** The caller stopped waiting. The task continues. */
export class Detached extends HoldfastError {
  constructor() {
    super(
      'DETACHED',
      'This client no longer waits for the task. The task continues; resume the call to get its result.',
    );
  }
}
