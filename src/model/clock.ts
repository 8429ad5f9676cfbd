/** The moment, in milliseconds since 1970. Nothing below the composition root reads the machine's clock itself. */
export interface Clock {
  now(): number;
  /** Calls back once the moment has come, and never keeps the process alive for it. Returns how to forget it. */
  schedule(at: number, callback: () => void): () => void;
}

/** setTimeout fires at once beyond this. */
const longestTimeoutMs = 2 ** 31 - 1;

/**
 * setTimeout may fire a moment early, because it measures with another clock. More than this, and the clock was set back
 * meanwhile: then waiting for the moment could take hours.
 */
const mostEarlyMs = 10;

export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(at, callback) {
    let timer: NodeJS.Timeout;
    const arm = () => {
      const ms = at - Date.now();
      timer = ms > longestTimeoutMs ? setTimeout(arm, longestTimeoutMs) : setTimeout(fire, Math.max(0, ms));
      timer.unref();
    };
    const fire = () => {
      const earlyMs = at - Date.now();
      if (earlyMs > 0 && earlyMs <= mostEarlyMs) arm();
      else callback();
    };
    arm();
    return () => clearTimeout(timer);
  },
};
