/** Named points at which a test can kill the process to see what survives. In production each is an empty call. */
export const crashPoints = [
  'open: instance locked',
  'open: migrating',
  'commit: begun',
  'commit: written',
  'commit: durable',
  'commit: marked',
  'claim: chosen',
  'backup: copied',
  'close: checkpointed',
] as const;

export type CrashPoint = (typeof crashPoints)[number];

let reached: ((name: CrashPoint) => void) | undefined;

export function crashPoint(name: CrashPoint): void {
  reached?.(name);
}

/** Sets the function that is called at each point. Undefined removes it. */
export function onCrashPoint(callback: ((name: CrashPoint) => void) | undefined): void {
  reached = callback;
}
