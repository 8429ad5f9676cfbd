/** The server's clock, which everything on the page uses. */
import { signal } from '@preact/signals';

/** The server's time, to the second. It advances only while the page is visible. */
export const now = signal(Date.now());

let skew = 0;
let frozen = false;
let timer: ReturnType<typeof setInterval> | undefined;

/** The server's time to the millisecond. */
export function preciseNow(): number {
  return frozen ? now.value : Date.now() + skew;
}

export function startClock(): void {
  if (timer !== undefined || frozen) return;
  tick();
  timer = setInterval(tick, 1_000);
  document.addEventListener('visibilitychange', tick);
}

/** Sets the clock to the server's time, or to the browser's if the server did not send it. */
export function setClock(serverNow?: number): void {
  if (serverNow !== undefined) skew = serverNow - Date.now();
  tick();
  set.resolve();
}

const set = Promise.withResolvers<void>();

/** Resolves once the clock is set: a browser with a wrong clock would request the wrong hour. */
export function whenClockSet(): Promise<void> {
  return set.promise;
}

/** Stops the clock permanently, so that screenshots are reproducible. */
export function freeze(at: number): void {
  frozen = true;
  clearInterval(timer);
  now.value = at;
}

function tick(): void {
  if (!frozen && !document.hidden) now.value = Date.now() + skew;
}
