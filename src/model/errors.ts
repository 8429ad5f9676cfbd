/** Every error Holdfast throws on purpose. The message is a sentence for people: what was wrong, what to do. */
export class HoldfastError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** What the engine relies on fails. The message is for whoever runs it, and may say where; callers are told less. */
export abstract class Unavailable extends HoldfastError {
  abstract get forCallers(): string;
}

/**
 * A command that the rules do not allow in the task's present state. Nothing was changed.
 * Each refusal is a class of its own, so that callers can tell them apart without reading messages.
 */
export abstract class Refusal extends HoldfastError {}

export type ErrorClass = { [Symbol.hasInstance](value: unknown): boolean };

/** For `promise.catch`: resolves to undefined if the error is of one of these classes. */
export function ignoring(...classes: readonly ErrorClass[]) {
  return (error: unknown): undefined => {
    if (!classes.some((one) => one[Symbol.hasInstance](error))) throw error;
  };
}

export class TaskNotFound extends Refusal {
  constructor(taskId: string) {
    super(`There is no task ${taskId}. It may have been purged after its retention ended.`);
  }
}

export class TaskIsDone extends Refusal {
  constructor(taskId: string) {
    super(`Task ${taskId} is done, and a task that is done never changes again.`);
  }
}

/** The handler has ended and the task only waits for its subtasks. */
export class TaskIsEnding extends Refusal {
  constructor(taskId: string) {
    super(`The handler of task ${taskId} has ended; the task only waits for its subtasks.`);
  }
}

/** The worker that sent the command no longer holds the task. It must stop its pass and touch nothing. */
export class ClaimLost extends Refusal {
  constructor(taskId: string, epoch: number, currentEpoch: number) {
    super(`Claim ${epoch} on task ${taskId} was lost: claim ${currentEpoch} has taken its place.`);
  }
}

/** There is nothing to claim: the task is done, parked, or in the hands of a living worker. */
export class NotClaimable extends Refusal {
  constructor(
    taskId: string,
    reason: 'done' | 'parked' | 'held by a living worker' | 'still running in this process',
  ) {
    super(`Task ${taskId} cannot be claimed now: it is ${reason}.`);
  }
}

/** Something happened to the task since the worker last looked; parking now could sleep through it. */
export class TaskMoved extends Refusal {
  constructor(taskId: string, seenVersion: number, version: number) {
    super(
      `Task ${taskId} moved from version ${seenVersion} to ${version} while its worker was about to park it.`,
    );
  }
}

export class BadAnswer extends Refusal {
  constructor(key: string, problem: string) {
    super(`The answer to "${key}" does not fit the question: ${problem}. No answer was applied.`);
  }
}

/** Somebody else is already carrying the question to a person. */
export class BeingDelivered extends Refusal {
  constructor(key: string) {
    super(`The question "${key}" is being delivered on another stream.`);
  }
}

export class IdempotencyKeyReused extends Refusal {
  constructor(idempotencyKey: string) {
    super(
      `The idempotency key "${idempotencyKey}" already stands for a task with other arguments. Use a new key for new work.`,
    );
  }
}

/** Nothing was stored: stores keep such names in their indexes, where there is little room. */
export class NameTooLong extends HoldfastError {
  constructor(what: string, bytes: number, most: number, advice: string) {
    super(`${what} is ${counted(bytes)} bytes long, and may have at most ${counted(most)}. ${advice}`);
  }
}

function counted(bytes: number): string {
  return bytes.toLocaleString('en-US');
}

/** The requestor named a task that it has named before. */
export class TaskExists extends Refusal {
  constructor(taskId: string) {
    super(`Task ID already exists: ${taskId}. The request that first used it is being carried out, or was.`);
  }
}

/** Its id has been sent, so that it no longer belongs to the request that made it. */
export class AlreadyPublished extends Refusal {
  constructor(taskId: string) {
    super(`Task ${taskId} has been published: only its own rules end it now.`);
  }
}

export class NotARoot extends Refusal {
  constructor(taskId: string, rootId: string) {
    super(`Task ${taskId} is a subtask and goes only together with its whole tree, whose root is ${rootId}.`);
  }
}

export class StillRetained extends Refusal {
  constructor(taskId: string, until: number | null) {
    super(
      until === null
        ? `Task ${taskId} is kept without limit.`
        : `Task ${taskId} is kept until ${new Date(until).toISOString()}.`,
    );
  }
}

export class StillAlive extends Refusal {
  constructor(taskId: string) {
    super(`Task ${taskId} is not done, and retention never ends live work.`);
  }
}

export class DeadlineNotReached extends Refusal {
  constructor(taskId: string, deadlineAt: number | null) {
    super(
      deadlineAt === null
        ? `Task ${taskId} has no deadline.`
        : `The deadline of task ${taskId} is only at ${new Date(deadlineAt).toISOString()}.`,
    );
  }
}
