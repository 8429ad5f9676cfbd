/** The clock that everything on the page goes by: the server's. */
import { signal } from '@preact/signals';

/** The server's time, to the second. It advances only while the page is visible. */
export const now = signal(Date.now());

let skew = 0;
let frozen = false;
let timer: ReturnType<typeof setInterval> | undefined;

/** The server's time at this very moment. */
export function preciseNow(): number {
  return frozen ? now.value : Date.now() + skew;
}

export function startClock(): void {
  if (timer !== undefined || frozen) return;
  tick();
  timer = setInterval(tick, 1_000);
  document.addEventListener('visibilitychange', tick);
}

/** Goes by the server's time from now on; if it does not say that, the browser's has to do. */
export function setClock(serverNow?: number): void {
  if (serverNow !== undefined) skew = serverNow - Date.now();
  tick();
  set.resolve();
}

const set = Promise.withResolvers<void>();

/** Fulfilled once the time is the server's: a browser whose clock is wrong would ask for another hour than the last. */
export function whenClockSet(): Promise<void> {
  return set.promise;
}

/** Stops the clock for good: pictures look the same whenever they are taken. */
export function freeze(at: number): void {
  frozen = true;
  clearInterval(timer);
  now.value = at;
}

function tick(): void {
  if (!frozen && !document.hidden) now.value = Date.now() + skew;
}
