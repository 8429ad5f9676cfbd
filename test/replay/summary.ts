/** What a run of random programs amounted to, and how to run the same ones again. */
import type { Problem, Tally } from './checks.ts';

/** A run that settles calls of some kinds only would be too tame to prove anything. */
export const allKinds = ['ask', 'event', 'result', 'sleep', 'start', 'step', 'until'];

export function summary({ problems, counts, settled }: Tally, seed: number): string {
  return `${counts}, ${problems.length} problems\n${settled}\n${howToRepeat(seed, problems)}`;
}

export function howToRepeat(seed: number, problems: readonly Problem[] = []): string {
  return `seed ${seed}; to repeat: HOLDFAST_SEED=${problems[0]?.seed ?? seed} npm test -- test/replay`;
}
