/** The wait of a call by a client that knows no tasks, until it is answered or handed over. */
import type { Requests } from '../../engine/requests.ts';
import type { DurableTool } from '../../engine/tool.ts';
import type { Caller } from '../../hosting/caller.ts';
import { type Patience, type Waited, waitFor } from '../../hosting/waiting.ts';
import { openInputs, type TaskId } from '../../model/task.ts';
import { Heartbeat } from './heartbeat.ts';

/** How such a call is handed over. */
export interface HandOver {
  readonly windowMs: number;
  /** The caller, as the plain tools know it. */
  readonly caller: Caller;
  /** Puts the questions of the work on the stream of the call, until the returned function is called. */
  readonly askOnStream?: (id: TaskId) => Promise<() => void>;
}

/**
 * `'elapsed'` if it is time to hand over: the window has passed, or there is a question that the client cannot be
 * asked. `'asked'` if questions are to be the answer to the call, and its retry goes on.
 */
export async function waitPlainly(
  requests: Requests,
  id: TaskId,
  { task }: DurableTool,
  { signal, onProgress, handOver }: Patience & { readonly handOver: HandOver },
): Promise<Waited> {
  const { windowMs, askOnStream } = handOver;
  const { answers } = handOver.caller.sender;
  if (task === 'required') return signal.aborted ? 'aborted' : 'elapsed';
  const until = requests.now + windowMs;
  const heartbeat = onProgress && new Heartbeat(requests, onProgress);
  const patience = { signal, ...(heartbeat && { onProgress: heartbeat.report }) };
  let stopAsking: (() => void) | undefined;
  try {
    for (;;) {
      const left = Math.max(0, until - requests.now);
      const waited = await waitFor(requests, id, {
        ...patience,
        windowMs: left,
        ...(stopAsking && { passesOver: ({ kind }) => answers.includes(kind) }),
      });
      if (waited !== 'asked') return waited;
      if (stopAsking || !(await canAskAll(requests, id, answers))) return 'elapsed';
      if (!askOnStream) return 'asked';
      stopAsking = await askOnStream(id);
    }
  } finally {
    stopAsking?.();
    heartbeat?.stop();
  }
}

async function canAskAll(
  requests: Requests,
  id: TaskId,
  answers: Caller['sender']['answers'],
): Promise<boolean> {
  const tree = await requests.tree(id);
  const open = tree ? [tree.root, ...tree.descendants].flatMap(openInputs) : [];
  return open.every(({ request }) => answers.includes(request.kind));
}
