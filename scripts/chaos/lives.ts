/** When each worker process lived, and how it ended: what may excuse a step that ran twice. */

export interface Life {
  /** Undefined until it has said so; before that it runs no step. */
  pid?: number;
  readonly startedAt: number;
  /** When its own code began to run. */
  readyAt?: number;
  /** The moment before the signal was sent; undefined if it was never killed. */
  killedAt?: number;
  /** When it was known to be gone. */
  goneAt?: number;
}

/** The process that wrote a line then. Numbers of processes come round again, so the time decides. */
export function lifeAt(
  lives: readonly Life[],
  { pid, at }: { readonly pid: number; readonly at: number },
): Life | undefined {
  return lives.find(
    (life) => life.pid === pid && life.startedAt <= at && at <= (life.goneAt ?? Number.POSITIVE_INFINITY),
  );
}
