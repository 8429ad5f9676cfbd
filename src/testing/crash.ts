import { type CrashPoint, onCrashPoint } from '../engine/crash-point.ts';

export { type CrashPoint, crashPoints } from '../engine/crash-point.ts';

/** Kills this process with SIGKILL, as a power cut would, when it reaches the place for the n-th time. */
export function killAt(place: CrashPoint, { time = 1 }: { readonly time?: number } = {}): void {
  let left = time;
  onCrashPoint((name) => {
    if (name === place && --left === 0) process.kill(process.pid, 'SIGKILL');
  });
}
