/**
 * Progress for a caller that waits: what the handler reports, and in between a sign of life, because many clients count
 * their time-out anew with each notification.
 */
import type { Requests } from '../../engine/requests.ts';
import type { Progress } from '../../model/task.ts';

/** Well below the time-outs of clients. */
const everyMs = 10_000;

/** Each notification must say more than the one before. So much more says nothing to a reader. */
const nextToNothing = 1e-6;

export class Heartbeat {
  readonly #requests: Pick<Requests, 'schedule'>;
  readonly #tell: (progress: Progress) => void;
  #last: Progress = { done: 0 };
  #cancel: () => void = () => {};

  constructor(requests: Pick<Requests, 'schedule'>, tell: (progress: Progress) => void) {
    this.#requests = requests;
    this.#tell = tell;
    this.#arm();
  }

  readonly report = (progress: Progress): void => {
    if (progress.done > this.#last.done) this.#last = progress;
    this.#tell(progress);
    this.#arm();
  };

  stop(): void {
    this.#cancel();
  }

  #arm(): void {
    this.#cancel();
    this.#cancel = this.#requests.schedule(everyMs, () => {
      this.#last = aHairFurther(this.#last);
      this.#tell(this.#last);
      this.#arm();
    });
  }
}

function aHairFurther({ done, total, ...rest }: Progress): Progress {
  const further = done + nextToNothing * Math.max(1, Math.abs(done));
  // More than there is would be no progress.
  return { ...rest, done: further, ...(total !== undefined && total >= further && { total }) };
}
