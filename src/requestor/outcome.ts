import type { Semaphore } from '../model/semaphore.ts';
import type { Ending } from './ending.ts';
import type { Halt } from './halt.ts';
import type { PursuitParts } from './pursuit.ts';

/** The outcome of a task of 2025-11-25, asked for before it is there, because questions come on that stream. */
export class Outcome {
  readonly #parts: PursuitParts;
  readonly #taskId: string;
  readonly #halt: Halt;
  readonly #streams: Semaphore;
  readonly #onNews: () => void;
  #isAsked = false;
  #early: Ending | undefined;

  constructor(parts: PursuitParts, taskId: string, halt: Halt, streams: Semaphore, onNews: () => void) {
    this.#parts = parts;
    this.#taskId = taskId;
    this.#halt = halt;
    this.#streams = streams;
    this.#onNews = onNews;
  }

  get early(): Ending | undefined {
    return this.#early;
  }

  ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const { peer, dialect } = this.#parts;
    const { signal } = this.#halt;
    const ask = () => peer.request(dialect.result!(this.#taskId), { signal, isPatient: true });
    this.#streams.run(ask, this.#halt).then(
      (result) => {
        this.#early = { kind: 'result', result };
        this.#onNews();
      },
      // Whatever it is, the next look says how the task stands; then it is asked for again.
      () => {
        this.#isAsked = false;
      },
    );
  }
}
