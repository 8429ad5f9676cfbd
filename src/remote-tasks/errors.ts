/** What can go wrong between a caller and the tasks of somebody else, each with a sentence for people. */
import { type ErrorCode, HoldfastError } from '../model/errors.ts';
import type { Json } from '../model/json.ts';

/** The peer answered a request with an error. */
export class RemoteError extends HoldfastError {
  /** The code of JSON-RPC. */
  readonly rpcCode: number;
  readonly data: Json | undefined;

  constructor({ code, message, data }: { code: number; message: string; data?: Json }) {
    super('REMOTE_ERROR', message);
    this.rpcCode = code;
    this.data = data;
  }
}

/** A message did not get through, or its answer did not. Whether it was carried out is not known. */
export class ConnectionLost extends HoldfastError {
  /** How long the peer asked not to be troubled. */
  readonly retryAfterMs: number | undefined;
  /** The connection itself is of no use any more: its process is gone, or its session. */
  readonly isOver: boolean;
  /** It is certain that the message was not carried out. */
  readonly isUnsent: boolean;

  constructor(why: string, details: { retryAfterMs?: number; isOver?: boolean; isUnsent?: boolean } = {}) {
    super('CONNECTION_LOST', `The connection to the server was lost: ${why}`);
    this.retryAfterMs = details.retryAfterMs;
    this.isOver = details.isOver ?? false;
    this.isUnsent = details.isUnsent ?? false;
  }
}

/** No answer came in time. */
export class RequestTimedOut extends HoldfastError {
  constructor(method: string, afterMs: number) {
    super('REQUEST_TIMED_OUT', `The server did not answer ${method} within ${afterMs} ms.`);
  }
}

/** The peer broke the protocol. What it did is said; nothing that it said is relied on. */
export class MalformedAnswer extends HoldfastError {
  constructor(what: string) {
    super('MALFORMED_ANSWER', `The server broke the protocol: ${what}.`);
  }
}

/** Something that became of one task of the peer. */
abstract class AboutTask extends HoldfastError {
  readonly taskId: string;

  constructor(code: ErrorCode, taskId: string, message: string) {
    super(code, message);
    this.taskId = taskId;
  }
}

/** The task ended with an error of the protocol. */
export class TaskFailed extends AboutTask {
  /** The code of JSON-RPC. */
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

/** Nobody will ever know what became of it. */
export class TaskLost extends AboutTask {
  constructor(taskId: string, why: string) {
    super('TASK_LOST', taskId, `Task ${taskId} is lost: ${why}`);
  }
}

/** It was kept as long as was agreed, and not longer. */
export class TaskExpired extends AboutTask {
  constructor(taskId: string, ttlMs: number) {
    super(
      'TASK_EXPIRED',
      taskId,
      `Task ${taskId} has expired: the server kept it for ${ttlMs} ms, and that time is over.`,
    );
  }
}

/** Waiting was given up: the server should have finished the task, or deleted it. It may still end; come back for it. */
export class TaskOverdue extends AboutTask {
  constructor(taskId: string, why: string) {
    super(
      'TASK_OVERDUE',
      taskId,
      `Task ${taskId} is overdue: ${why} Waiting was given up. Resume the call to try again.`,
    );
  }
}

/** A server asks what nobody here knows how to answer. The task keeps waiting. */
export class UnknownQuestion extends HoldfastError {
  /** The method of the input request. */
  readonly method: string;

  constructor(taskId: string | undefined, method: string) {
    super(
      'UNKNOWN_QUESTION',
      taskId === undefined
        ? `The server asks a question of a kind that is unknown here: "${method}". Call with a client that knows the kind.`
        : `Task ${taskId} asks a question of a kind that is unknown here: "${method}". It waits for the answer: give it with a client that knows the kind, then resume the call; or cancel the task.`,
    );
    this.method = method;
  }
}

/** The server could not be reached for so long that waiting was given up. The task may go on; come back for it. */
export class ServerUnreachable extends HoldfastError {
  constructor(forMs: number, last: string) {
    super(
      'SERVER_UNREACHABLE',
      `The server could not be reached for ${Math.round(forMs / 1_000)} s. ${last}`,
    );
  }
}

/** Nobody waits any more. The task goes on. */
export class Detached extends HoldfastError {
  constructor() {
    super('DETACHED', 'Nobody waits for this task here any more. It goes on; resume it to come back.');
  }
}
