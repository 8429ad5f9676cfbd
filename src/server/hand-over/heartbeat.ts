/**
 * Progress for a caller that waits: what the handler reports and, every ten seconds, what the work is doing. Many clients
 * restart their time-out with each notification, and some show its text to their user.
 */
import type { Requests } from '../../engine/requests.ts';
import { openInputs, type Progress, type TaskId } from '../../model/task.ts';

/** Well below the time-outs of clients. */
const everyMs = 10_000;

/** Each notification must report more progress than the one before. This much more is invisible to a reader. */
const nextToNothing = 1e-6;

type Beaten = Pick<Requests, 'schedule' | 'tree' | 'now'>;

/** Begins at once; `report` is for what the handler reports. */
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
