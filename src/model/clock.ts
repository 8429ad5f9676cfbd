/** The moment, in milliseconds since 1970. Nothing below the composition root reads the machine's clock itself. */
export interface Clock {
  now(): number;
  /** Calls back once the moment has come, and never keeps the process alive for it. Returns how to forget it. */
  schedule(at: number, callback: () => void): () => void;
}

/** setTimeout fires at once beyond this. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Calls back after this long, however long that is. Returns how to forget it. */
export function after(ms: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (left: number) => {
    const next = Math.min(left, longestTimeoutMs);
    timer = setTimeout(() => (left > next ? arm(left - next) : callback()), next);
  };
  arm(ms);
  return () => clearTimeout(timer);
}

export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(at, callback) {
    let timer: NodeJS.Timeout;
    const arm = () => {
      const ms = at - Date.now();
      timer =
        ms > longestTimeoutMs ? setTimeout(arm, longestTimeoutMs) : setTimeout(callback, Math.max(0, ms));
      timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};
