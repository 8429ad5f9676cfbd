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

export class Heartbeat {
  readonly #requests: Pick<Requests, 'schedule' | 'tree' | 'now'>;
  readonly #id: TaskId;
  readonly #tell: (progress: Progress) => void;
  #last: Progress = { done: 0 };
  #cancel: () => void = () => {};
  #isStopped = false;

  constructor(
    requests: Pick<Requests, 'schedule' | 'tree' | 'now'>,
    id: TaskId,
    tell: (progress: Progress) => void,
  ) {
    this.#requests = requests;
    this.#id = id;
    this.#tell = tell;
    this.#arm();
  }

  readonly report = (progress: Progress): void => {
    if (progress.done > this.#last.done) this.#last = progress;
    this.#tell(progress);
    this.#arm();
  };

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #arm(): void {
    this.#cancel();
    this.#cancel = this.#requests.schedule(everyMs, () => {
      // A store that cannot be read now is read at the next one.
      void this.#beat().catch(() => {});
      this.#arm();
    });
  }

  async #beat(): Promise<void> {
    const message = await this.#message();
    if (this.#isStopped || message === undefined) return;
    this.#last = aHairFurther(this.#last);
    this.#tell({ ...this.#last, message });
  }

  /** One line for a person: what is waited for, and for how long. */
  async #message(): Promise<string | undefined> {
    const { now } = this.#requests;
    const tree = await this.#requests.tree(this.#id);
    if (!tree || tree.root.phase === 'done') return undefined;
    const { tool, origin, statusMessage, progress, createdAt } = tree.root;
    const [question] = [tree.root, ...tree.descendants].flatMap(openInputs);
    const asked = question && 'message' in question.request ? question.request.message : undefined;
    const doing = question
      ? `Waiting for an answer${asked === undefined ? '' : `: ${asked}`}`
      : (progress?.message ?? statusMessage ?? `${origin.calledAs ?? tool} is running`);
    return `${doing} (${elapsed(now - createdAt)})`;
  }
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
