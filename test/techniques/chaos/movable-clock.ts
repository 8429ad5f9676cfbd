/**
 * A wall clock that can be moved, for child processes: preload it with `--import`, then `moveClock` shifts what `Date`
 * gives. Timers and monotonic clocks go on as before, as they do on a machine whose clock is set.
 */
const Real = globalThis.Date;
let offsetMs = 0;
const now = () => Real.now() + offsetMs;

globalThis.Date = new Proxy(Real, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new Real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

/** Sets the clock to the true time plus so many milliseconds. */
export function moveClock(ms: number): void {
  offsetMs = ms;
}

/** Stops the event loop for so long, without using the processor. */
export function blockLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
