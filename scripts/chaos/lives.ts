/** The lifetime of each worker process, which may excuse a step that ran twice. */

export interface Life {
  /** Undefined until the process has reported it; before that it runs no steps. */
  pid?: number;
  readonly startedAt: number;
  /** When its own code started to run. */
  readyAt?: number;
  /** The time just before the signal was sent; undefined if it was never killed. */
  killedAt?: number;
  /** When its exit was observed. */
  goneAt?: number;
}

/** The process that wrote a line. Process ids are reused, so the time decides. */
export function lifeAt(
  lives: readonly Life[],
  { pid, at }: { readonly pid: number; readonly at: number },
): Life | undefined {
  return lives.find(
    (life) => life.pid === pid && life.startedAt <= at && at <= (life.goneAt ?? Number.POSITIVE_INFINITY),
  );
}
