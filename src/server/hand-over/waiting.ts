/** The waits of a plain client: for its call, and later for the task that the call became. */
import type { TaskService } from '../../engine/task-service.ts';
import type { InputRequest } from '../../model/input.ts';
import { openInputs, type Progress, type TaskId } from '../../model/task.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { type Waited, type WaitOptions, waitFor } from '../../task-methods/waiting.ts';
import type { Fate } from '../calls/deliveries.ts';

/** A request of a plain client that is answered before the client times out. */
export interface PlainRequest {
  /** The caller, with the dialect of the plain tools. */
  readonly caller: Caller;
  /** True if the call is handed over immediately, without a wait. */
  readonly atOnce?: boolean;
  /** The time left for the answer; negative if it is over. */
  readonly leftMs: () => number;
  /** Asks the task's questions on the stream of the request, until the returned function is called. Sessions only. */
  readonly askOnStream?: (id: TaskId) => Promise<() => void>;
}

/** How a call is handed over. */
export interface HandOver extends PlainRequest {
  /** Whether the answer to the call was delivered. */
  readonly fate: Promise<Fate>;
  /** Fires when the client no longer waits for the answer. */
  readonly gone: AbortSignal;
  /**
   * True if the client is gone because its connection was lost. The call continues, and a repeated call may join it.
   */
  readonly isLost: () => boolean;
  /** How long operators see the call after its answer was delivered. Undefined: it is removed immediately. */
  readonly keepMs?: number | undefined;
}

/**
 * Waits until the request can be answered. Returns `'done'` if the task has ended, and `'aborted'` if the signal fired.
 * Returns `'elapsed'` if the answer to the request is the status of the task: the time is up, or the client cannot be
 * asked an open question. Returns `'asked'` if the answer is the open questions, and the client sends the answers
 * later.
 */
export async function waitPlainly(
  requests: TaskService,
  id: TaskId,
  { caller, atOnce, leftMs, askOnStream }: PlainRequest,
  { signal, onProgress, ignores = () => false }: Omit<WaitOptions, 'windowMs' | 'untilStart'>,
): Promise<Waited> {
  if (atOnce) return signal.aborted ? 'aborted' : 'elapsed';
  const canAsk = ({ kind }: InputRequest) => caller.sender.answers.includes(kind);
  const beats = onProgress && heartbeat(requests, id, onProgress);
  let stopAsking: (() => void) | undefined;
  try {
    for (;;) {
      const waited = await waitFor(requests, id, {
        signal,
        ...(beats && { onProgress: beats.report }),
        windowMs: Math.max(0, leftMs()),
        // Once questions are asked on the stream, they no longer end the wait.
        ignores: (request) => (canAsk(request) ? stopAsking !== undefined : ignores(request)),
      });
      if (waited !== 'asked') return waited;
      const open = (await openRequests(requests, id)).filter((one) => canAsk(one) || !ignores(one));
      if (open.length === 0) continue;
      if (!open.every(canAsk)) return 'elapsed';
      if (!askOnStream) return 'asked';
      stopAsking ??= await askOnStream(id);
    }
  } finally {
    stopAsking?.();
    beats?.stop();
  }
}

async function openRequests(requests: TaskService, id: TaskId): Promise<InputRequest[]> {
  const tree = await requests.tree(id);
  const tasks = tree ? [tree.root, ...tree.descendants] : [];
  return tasks.flatMap(openInputs).map(({ request }) => request);
}

// --- Progress -----------------------------------------------------------------------------------------------

/** The interval of heartbeats, well below the timeouts of clients. */
const heartbeatMs = 10_000;

/**
 * Heartbeats increase the progress, because MCP requires that: by this fraction of it, and at least by this much. For
 * large numbers a fixed amount would be lost in rounding.
 */
const minIncrease = 1e-6;

type HeartbeatService = Pick<TaskService, 'schedule' | 'tree' | 'now'>;

/**
 * Sends progress to a caller that waits: what the handler reports and, every ten seconds, what the task is doing. Many
 * clients restart their timeout with each notification, and some show its message to their user.
 */
export function heartbeat(requests: HeartbeatService, id: TaskId, send: (progress: Progress) => void) {
  let last: Progress = { done: 0 };
  let cancel = () => {};
  let isStopped = false;
  const beat = async () => {
    const message = await messageOf(requests, id);
    if (isStopped || message === undefined) return;
    last = increased(last);
    send({ ...last, message });
  };
  const arm = () => {
    cancel();
    cancel = requests.schedule(heartbeatMs, () => {
      // If the store cannot be read, the next heartbeat tries again.
      void beat().catch(() => {});
      arm();
    });
  };
  arm();
  return {
    report: (progress: Progress) => {
      if (progress.done > last.done) last = progress;
      send(progress);
      arm();
    },
    stop: () => {
      isStopped = true;
      cancel();
    },
  };
}

/** One line for a person: what the task is doing, and the time since its creation. Undefined if the task is done. */
async function messageOf(requests: HeartbeatService, id: TaskId): Promise<string | undefined> {
  const { now } = requests;
  const tree = await requests.tree(id);
  if (!tree || tree.root.phase === 'done') return undefined;
  const { tool, origin, statusMessage, progress, createdAt } = tree.root;
  const [question] = [tree.root, ...tree.descendants].flatMap(openInputs);
  const asked = question && 'message' in question.request ? question.request.message : undefined;
  const doing = question
    ? `Waiting for an answer${asked === undefined ? '' : `: ${asked}`}`
    : (progress?.message ?? statusMessage ?? `${origin.calledAs ?? tool} is running`);
  return `${doing} (${elapsed(now - createdAt)})`;
}

/** A duration for a person: 40 s, 3 min, 2 h 5 min. */
function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function increased({ done, total }: Progress): Progress {
  const next = done + minIncrease * Math.max(1, Math.abs(done));
  // Progress must not exceed the total, so omit the total then.
  return { done: next, ...(total !== undefined && total >= next && { total }) };
}
