/**
 * The rules of the task lifecycle. Each command is a pure function from a task (or its family) and a time to a
 * change or a refusal with a code. Stores and workers make no decisions of their own.
 *
 * These rules keep the following invariants at every commit:
 *   1. done is final                                   5. an input key is never reused in a task's life
 *   2. waiting ⇔ an own input is open                  6. what is published can be read back
 *   3. a parent is done only when all descendants are  7. only the current claim's epoch may advance a task
 *   4. a tree is purged as one unit                    8. retention never ends live work
 */
import { answerProblem } from '../../model/answer.ts';
import { Refusal, refusal } from '../../model/errors.ts';
import type { Report, TaskEvent } from '../../model/event.ts';
import {
  type AskedAsTask,
  type Delivery,
  freshKey,
  type InputRecord,
  type InputRequest,
  type InputResponse,
  type OpenInput,
  type SettledInput,
} from '../../model/input.ts';
import type { Json } from '../../model/json.ts';
import type {
  ActiveTask,
  NewTask,
  NewTaskWorker,
  QueuedTask,
  Task,
  TaskId,
  TaskWorker,
} from '../../model/task.ts';
import {
  type Change,
  changed,
  type Family,
  type TaskWrite,
  unchanged,
  type Verdict,
  write,
} from '../../ports/change.ts';
import type { Claim, FreedWorker } from '../../ports/queue.ts';
import { asleep, bumped, bumpedVisibly, fenced, wake, withdrawn, withoutWorker } from './fencing.ts';
import { boundTo } from './publication.ts';

export { cancel, cancelRequest, complete, crowdOut, fail, passDeadline, purge, remove } from './endings.ts';
export { confirmHandOver, discard, isJoinable, keepForRequest, publish } from './publication.ts';

// --- Creation ---------------------------------------------------------------------------------------------

/**
 * Creates a root task. `existing` is the task that already has the request's id or idempotency key. A used id is
 * refused. A used key returns the existing task if the arguments are the same, and is refused otherwise. With a
 * `worker` the task is claimed in the same commit.
 */
export function create(
  existing: Task | undefined,
  request: NewTask,
  at: number,
  worker?: NewTaskWorker,
): Verdict {
  if (existing?.id === request.id) return refusal('TASK_EXISTS', request.origin.named?.taskId ?? request.id);
  if (existing) {
    const { key, argumentsDigest } = existing.idempotency!;
    return argumentsDigest === request.idempotency?.argumentsDigest
      ? unchanged(existing)
      : refusal('IDEMPOTENCY_KEY_REUSED', key);
  }
  const task = newTask(request, at, { rootId: request.id, ordinal: 0, depth: 0 });
  const created: TaskEvent = { type: 'created' };
  if (!worker) return changed(task, at, [created], opening(request));
  return changed(
    { ...task, phase: 'running', epoch: 1, worker: leased(worker, at) },
    at,
    [created, { type: 'claimed', epoch: 1, worker: worker.name }],
    opening(request),
  );
}

/** Creates a subtask and links it to its parent, in one commit with its journal entry. */
export function startChild(
  parent: Task,
  claim: Claim,
  request: NewTask,
  at: number,
  journal: readonly Json[] = [],
): Verdict {
  return fenced(parent, claim, (task) => {
    const child = newTask({ ...request, owner: task.owner }, at, {
      rootId: task.rootId,
      parentId: task.id,
      ordinal: task.childCount,
      depth: task.depth + 1,
    });
    const linked: ActiveTask = {
      ...bumpedVisibly(task, at),
      childCount: task.childCount + 1,
      liveChildCount: task.liveChildCount + 1,
    };
    return {
      task: linked,
      // The subtask is written first: no observer may learn its id before it can be read.
      writes: [
        write(child, at, [{ type: 'created' }], opening(request)),
        write(linked, at, [{ type: 'childStarted', childId: child.id }], journal),
      ],
      removed: [],
    };
  });
}

function newTask(
  request: NewTask,
  at: number,
  position: { rootId: TaskId; parentId?: TaskId; ordinal: number; depth: number },
): QueuedTask {
  const { arguments: _, deadlineMs, unpublished, ...kept } = request;
  const deadlineAt = deadlineMs === null ? null : at + deadlineMs;
  return {
    ...kept,
    ...position,
    phase: 'queued',
    inputs: [],
    childCount: 0,
    liveChildCount: 0,
    createdAt: at,
    updatedAt: at,
    ...(unpublished ? boundTo(unpublished, deadlineAt) : { deadlineAt }),
    isReady: true,
    wakeAt: at,
    version: 1,
    epoch: 0,
  };
}

/** A journal begins with the arguments of the call. They are not in the task itself, because it is polled often. */
function opening(request: NewTask): Json[] {
  return [{ arguments: request.arguments }];
}

// --- Claims -----------------------------------------------------------------------------------------------

/** After this many crashes in a row a task is a suspect and runs alone. */
const suspectAfterCrashes = 2;

/** After a crash a task waits this long, so that its process can restart before the task reaches another one. */
const restMs = 2_000;

export function isSuspect({ crashes = 0 }: Task): boolean {
  return crashes >= suspectAfterCrashes;
}

/**
 * Claims a task that is ready and begins a pass. A task that another worker has claimed is taken over only if the queue
 * reports that worker as freed: its process is dead, or its lease expired and was not renewed since. No clock decides
 * that here. If the last pass counts as a crash, the task is not claimed yet: the change only removes the worker and
 * lets the task rest.
 */
export function claim(task: Task, worker: NewTaskWorker, at: number, freed?: FreedWorker): Verdict {
  if (task.phase === 'done') return refusal('NOT_CLAIMABLE', task.id, 'done');
  if (task.wakeAt === null || !(task.isReady || task.wakeAt <= at))
    return refusal('NOT_CLAIMABLE', task.id, 'parked');
  const previous = task.worker;
  if (previous && !isFreed(previous, freed))
    return refusal('NOT_CLAIMABLE', task.id, 'held by a living worker');
  const counted = previous && previous.name !== worker.name ? afterCrash(task, previous) : {};
  if (previous && counted.crashes !== undefined) {
    const until = at + restMs;
    const resting = asleep({ ...bumped(withoutWorker(task)), ...counted }, until);
    return changed(resting, at, [{ type: 'rested', until, takenFrom: previous.name }]);
  }
  const epoch = task.epoch + 1;
  const started =
    task.phase === 'queued' ? { ...bumpedVisibly(task, at), phase: 'running' as const } : bumped(task);
  return changed({ ...started, ...counted, epoch, isReady: true, worker: leased(worker, at) }, at, [
    { type: 'claimed', epoch, worker: worker.name, ...(previous && { takenFrom: previous.name }) },
  ]);
}

function isFreed(previous: TaskWorker, freed: FreedWorker | undefined): boolean {
  if (freed?.name !== previous.name) return false;
  return freed.leaseUntil === undefined || freed.leaseUntil === previous.leaseUntil;
}

/** A pass that added to the journal made progress, so the task is not blamed for the crash. */
function afterCrash(task: Task, { isAlone }: TaskWorker): Pick<Task, 'crashes' | 'crashesAlone'> {
  if (task.recordedIn === task.epoch) return {};
  const { crashes = 0, crashesAlone = 0 } = task;
  const alone = crashesAlone + (isAlone ? 1 : 0);
  return { crashes: crashes + 1, ...(alone > 0 && { crashesAlone: alone }) };
}

/** A store that uses its own clock replaces the times. */
function leased({ name, leaseMs }: NewTaskWorker, at: number): TaskWorker {
  return { name, since: at, leaseMs, leaseUntil: at + leaseMs };
}

/** Records that a suspect runs alone in its process. If the process dies now, the task is to blame. */
export function isolate(task: Task, claim: Claim, at: number): Verdict {
  return fenced(task, claim, (held) =>
    changed({ ...bumped(held), worker: { ...held.worker!, isAlone: true } }, at, [{ type: 'isolated' }]),
  );
}

/**
 * Ends a pass that only waits: the task sleeps until `until`, or until an answer or a subtask wakes it. The rule refuses
 * if the task changed since the worker last read it, so that no wake-up is missed. `claimedVersion` is the version that
 * the claim created. If the task still has it, the pass did nothing.
 */
export function park(
  task: Task,
  claim: Claim,
  { seenVersion, until, claimedVersion }: Parking,
  at: number,
): Verdict {
  return fenced(task, claim, (held) => {
    if (task.version !== seenVersion) return refusal('TASK_MOVED', task.id, seenVersion, task.version);
    const parked = changed(asleep(bumped(withoutWorker(held)), until), at, [{ type: 'parked', until }]);
    if (task.version !== claimedVersion) return parked;
    return { ...parked, writes: parked.writes.map((one) => ({ ...one, isIdle: true })) };
  });
}

export interface Parking {
  readonly seenVersion: number;
  readonly until: number | null;
  readonly claimedVersion?: number | undefined;
}

/** Blocks a task that the handler of this worker cannot continue. Nothing is lost, and a retry is possible at `until`. */
export function block(
  task: Task,
  claim: Claim,
  { message, until }: { readonly message: string; readonly until: number },
  at: number,
): Verdict {
  return fenced(task, claim, (held) => {
    const blocked = { message, times: (task.blocked?.times ?? 0) + 1 };
    const parked = { ...bumpedVisibly(withoutWorker(held), at), statusMessage: message, blocked };
    return changed(asleep(parked, until), at, [{ type: 'stuck', message, until }]);
  });
}

/** Gives up the claim of an unfinished task. It can be claimed again at once, or from `until` on. */
export function release(task: Task, claim: Claim, at: number, until?: number): Verdict {
  return fenced(task, claim, (held) => {
    const free = bumped(withoutWorker(held));
    return changed(until === undefined ? free : asleep(free, until), at, [{ type: 'released' }]);
  });
}

// --- During a pass ----------------------------------------------------------------------------------------

/** Appends to the journal. This counts as progress and resets the crash counters. */
export function record(task: Task, claim: Claim, journal: readonly Json[], at: number): Verdict {
  return fenced(task, claim, (held) => {
    const { crashes: _, crashesAlone: _alone, blocked: _blocked, ...advanced } = bumped(held);
    return changed(
      { ...advanced, recordedIn: claim.epoch } as ActiveTask,
      at,
      [{ type: 'recorded', entries: journal.length }],
      journal,
    );
  });
}

export function report(task: Task, claim: Claim, { message, progress, pollMs }: Report, at: number): Verdict {
  return fenced(task, claim, (held) => {
    const fields = {
      ...(message !== undefined && { message }),
      ...(progress && { progress }),
      ...(pollMs !== undefined && { pollMs }),
    };
    if (Object.keys(fields).length === 0) return unchanged(task);
    const { message: statusMessage, ...rest } = fields;
    return changed(
      { ...bumpedVisibly(held, at), ...rest, ...(statusMessage !== undefined && { statusMessage }) },
      at,
      [{ type: 'reported', ...fields }],
    );
  });
}

/** Opens a question. Its key is the key of the last input of the changed task. */
export function ask(
  task: Task,
  claim: Claim,
  question: { readonly key: string; readonly request: InputRequest },
  at: number,
  journal: readonly Json[] = [],
): Verdict {
  return fenced(task, claim, (held) => {
    const key = freshKey(task.inputs, question.key);
    const inputs: InputRecord[] = [
      ...task.inputs,
      { key, request: question.request, askedAt: at, state: 'open' },
    ];
    return changed(
      { ...bumpedVisibly(held, at), phase: 'waiting', inputs },
      at,
      [{ type: 'asked', key }],
      journal,
    );
  });
}

// --- From outside -----------------------------------------------------------------------------------------

/**
 * Applies some or all answers by key. Unknown, late and repeated answers are ignored. If an answer does not fit its
 * question, the whole call is refused: a caller whose call succeeds would never answer that key again.
 */
export function answer(task: Task, responses: Readonly<Record<string, InputResponse>>, at: number): Verdict {
  if (task.phase !== 'waiting') return unchanged(task);
  const events: TaskEvent[] = [];
  const inputs: InputRecord[] = [];
  for (const input of task.inputs) {
    const response = Object.hasOwn(responses, input.key) ? responses[input.key] : undefined;
    if (input.state !== 'open' || response === undefined) {
      inputs.push(input);
      continue;
    }
    const problem = answerProblem(input.request, response);
    if (problem) return refusal('BAD_ANSWER', input.key, problem);
    const { delivery: _, ...asked } = input;
    inputs.push({ ...asked, state: 'answered', answeredAt: at, response });
    events.push({ type: 'answered', key: input.key });
  }
  return settleInputs(task, inputs, events, at);
}

/** Applies answers to questions of a whole tree. If one answer does not fit, none is applied. */
export function answerTree(
  { task, descendants }: Family,
  responses: ReadonlyMap<TaskId, Readonly<Record<string, InputResponse>>>,
  at: number,
): Verdict {
  const writes: TaskWrite[] = [];
  for (const one of [task, ...descendants]) {
    const verdict = answer(one, responses.get(one.id) ?? {}, at);
    if (verdict instanceof Refusal) return verdict;
    writes.push(...verdict.writes);
  }
  return { task: writes.find((one) => one.task.id === task.id)?.task ?? task, writes, removed: [] };
}

/** Sets a status message that explains why no worker runs the task. */
export function explain(task: Task, message: string, at: number): Verdict {
  if (task.phase === 'done' || task.worker || task.statusMessage === message) return unchanged(task);
  return changed({ ...bumpedVisibly(task, at), statusMessage: message }, at, [{ type: 'reported', message }]);
}

/** Completes an event from outside, whether the handler already waits for it or not. */
export function completeEvent(task: Task, name: string, value: Json, at: number): Verdict {
  if (task.phase === 'done') return refusal('TASK_IS_DONE', task.id);
  if (task.completions && Object.hasOwn(task.completions, name)) return unchanged(task);
  const completions = { ...task.completions, [name]: value };
  const next = task.heldOutcome === undefined ? wake(bumped(task), at) : bumped(task);
  return changed({ ...next, completions }, at, [{ type: 'completed', name }]);
}

/** Withdraws open questions whose answers are no longer needed. */
export function withdraw(task: Task, keys: readonly string[], at: number): Verdict {
  if (task.phase !== 'waiting') return unchanged(task);
  const { inputs, events } = withdrawn(task, at, (key) => keys.includes(key));
  return settleInputs(task, inputs, events, at);
}

function settleInputs(task: ActiveTask, inputs: InputRecord[], events: TaskEvent[], at: number): Change {
  if (events.length === 0) return unchanged(task);
  const next = wake(bumpedVisibly(task, at), at);
  const settled = inputs.filter((input): input is SettledInput => input.state !== 'open');
  return changed(
    settled.length === inputs.length
      ? { ...next, phase: 'running', inputs: settled }
      : { ...next, phase: 'waiting', inputs },
    at,
    events,
  );
}

// --- Questions that are pushed: each is on at most one stream at a time, across all processes ---------------

/** Assigns a question to a stream, or extends the assignment. `deadProcess` is a process that is known to be dead. */
export function deliver(
  task: Task,
  key: string,
  delivery: Delivery,
  at: number,
  deadProcess?: string,
): Verdict {
  const open = openInput(task, key);
  if (!open) return unchanged(task);
  const { delivery: other } = open;
  const isOurs = other?.by === delivery.by && other.stream === delivery.stream;
  if (other && !isOurs && other.until > at && other.by !== deadProcess)
    return refusal('BEING_DELIVERED', key);
  return withDelivery(task, { ...open, delivery }, at, 'delivering');
}

/** The stream closed before the answer arrived. The question can be sent on another stream. */
export function undeliver(task: Task, key: string, by: string, stream: string, at: number): Verdict {
  const open = openInput(task, key);
  if (open?.delivery?.by !== by || open.delivery.stream !== stream) return unchanged(task);
  const { delivery: _, ...free } = open;
  return withDelivery(task, free, at, 'undelivered');
}

/** The client created a task for the question, or no longer has that task. */
export function recordAskedAsTask(
  task: Task,
  key: string,
  askedAsTask: AskedAsTask | undefined,
  at: number,
): Verdict {
  const open = openInput(task, key);
  if (!open) return unchanged(task);
  const { entrusted: _, ...rest } = open;
  return withDelivery(task, { ...rest, ...(askedAsTask && { entrusted: askedAsTask }) }, at, 'delivering');
}

function openInput(task: Task, key: string): OpenInput | undefined {
  const input = (task.inputs as readonly InputRecord[]).find((one) => one.key === key);
  return input?.state === 'open' ? input : undefined;
}

function withDelivery(task: Task, input: OpenInput, at: number, type: 'delivering' | 'undelivered'): Verdict {
  const inputs = task.inputs.map((one) => (one.key === input.key ? input : one));
  return changed({ ...bumped(task), inputs } as Task, at, [{ type, key: input.key }]);
}
