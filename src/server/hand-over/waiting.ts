/** The waits of a client that knows no tasks: for its call, and later for the task that the call became. */
import type { Requests } from '../../engine/requests.ts';
import type { Caller } from '../../hosting/caller.ts';
import { type Patience, type Waited, waitFor } from '../../hosting/waiting.ts';
import type { InputRequest } from '../../model/input.ts';
import { openInputs, type TaskId } from '../../model/task.ts';
import type { Fate } from '../deliveries.ts';
import { heartbeat } from './heartbeat.ts';

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
  readonly keepMs?: number;
}

/**
 * `'elapsed'` if the request is to be answered with the status of the task: time is up, or there is a question that the
 * client cannot be asked. `'asked'` if questions are to be the answer, and the client comes back with its answers.
 */
export async function waitPlainly(
  requests: Requests,
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

async function openRequests(requests: Requests, id: TaskId): Promise<InputRequest[]> {
  const tree = await requests.tree(id);
  const tasks = tree ? [tree.root, ...tree.descendants] : [];
  return tasks.flatMap(openInputs).map(({ request }) => request);
}
