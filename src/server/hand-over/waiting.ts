/** The waits of a client that knows no tasks: for its call, and later for the task that the call became. */
import type { TaskService } from '../../engine/task-service.ts';
import type { InputRequest } from '../../model/input.ts';
import { openInputs, type Progress, type TaskId } from '../../model/task.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { type Patience, type Waited, waitFor } from '../../task-methods/waiting.ts';
import type { Fate } from '../calls/deliveries.ts';

/** A request of a plain client that is answered before the client gives up. */
export interface PlainRequest {
  /** The caller, as the plain tools know it. */
  readonly caller: Caller;
  /** Nothing is waited for: the call is handed over at once. */
  readonly atOnce?: boolean;
  /** How long the answer may still take. */
  readonly leftMs: () => number;
  /** Puts the questions of the work on the stream of the request, until the returned function is called. */
  readonly askOnStream?: (id: TaskId) => Promise<() => void>;
}

/** How a call is handed over. */
export interface HandOver extends PlainRequest {
  /** What becomes of the answer to the call. */
  readonly fate: Promise<Fate>;
  /** Fires when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
  /** Whether that does not cancel the call: its connection was lost, and a repeated call may join it. */
  readonly isLost: () => boolean;
  /** How long operators see the call after its answer was delivered. */
  readonly keepMs?: number | undefined;
}

/**
 * `'elapsed'` if the request is to be answered with the status of the task: time is up, or there is a question that the
 * client cannot be asked. `'asked'` if questions are to be the answer, and the client comes back with its answers.
 */
export async function waitPlainly(
  requests: TaskService,
  id: TaskId,
  { caller, atOnce, leftMs, askOnStream }: PlainRequest,
  { signal, onProgress, passesOver = () => false }: Omit<Patience, 'windowMs' | 'untilStart'>,
): Promise<Waited> {
  if (atOnce) return signal.aborted ? 'aborted' : 'elapsed';
  const canAsk = ({ kind }: InputRequest) => caller.sender.answers.includes(kind);
  const beating = onProgress && heartbeat(requests, id, onProgress);
  let stopAsking: (() => void) | undefined;
  try {
    for (;;) {
      const waited = await waitFor(requests, id, {
        signal,
        ...(beating && { onProgress: beating.report }),
        windowMs: Math.max(0, leftMs()),
        passesOver: (request) => (canAsk(request) ? stopAsking !== undefined : passesOver(request)),
      });
      if (waited !== 'asked') return waited;
      const open = (await openRequests(requests, id)).filter((one) => canAsk(one) || !passesOver(one));
      if (open.length === 0) continue;
      if (!open.every(canAsk)) return 'elapsed';
      if (!askOnStream) return 'asked';
      stopAsking ??= await askOnStream(id);
    }
  } finally {
    stopAsking?.();
    beating?.stop();
  }
}

async function openRequests(requests: TaskService, id: TaskId): Promise<InputRequest[]> {
  const tree = await requests.tree(id);
  const tasks = tree ? [tree.root, ...tree.descendants] : [];
  return tasks.flatMap(openInputs).map(({ request }) => request);
}

// --- Progress -----------------------------------------------------------------------------------------------

/** Well below the time-outs of clients. */
const everyMs = 10_000;

/** Each notification must report more progress than the one before. This much more is invisible to a reader. */
const nextToNothing = 1e-6;

type Beaten = Pick<TaskService, 'schedule' | 'tree' | 'now'>;

/**
 * Progress for a caller that waits: what the handler reports and, every ten seconds, what the work is doing. Many clients
 * restart their time-out with each notification, and some show its text to their user.
 */
export function heartbeat(requests: Beaten, id: TaskId, tell: (progress: Progress) => void) {
  let last: Progress = { done: 0 };
  let cancel = () => {};
  let isStopped = false;
  const beat = async () => {
    const message = await messageOf(requests, id);
    if (isStopped || message === undefined) return;
    last = aHairFurther(last);
    tell({ ...last, message });
  };
  const arm = () => {
    cancel();
    cancel = requests.schedule(everyMs, () => {
      // A store that cannot be read now is read at the next one.
      void beat().catch(() => {});
      arm();
    });
  };
  arm();
  return {
    report: (progress: Progress) => {
      if (progress.done > last.done) last = progress;
      tell(progress);
      arm();
    },
    stop: () => {
      isStopped = true;
      cancel();
    },
  };
}

/** One line for a person: what is waited for, and for how long. Undefined if the work is done. */
async function messageOf(requests: Beaten, id: TaskId): Promise<string | undefined> {
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

/** As people say it: 40 s, 3 min, 2 h 5 min. */
function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function aHairFurther({ done, total }: Progress): Progress {
  const further = done + nextToNothing * Math.max(1, Math.abs(done));
  // Progress beyond the total would make no sense.
  return { done: further, ...(total !== undefined && total >= further && { total }) };
}
