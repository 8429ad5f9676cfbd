/** What a run of random programs amounted to, and how to run the same ones again. */
import type { Tally } from './checks.ts';

/** A run that settles calls of some kinds only would be too tame to prove anything. */
export const allKinds = ['ask', 'event', 'result', 'sleep', 'start', 'step', 'until'];

export function summary({ problems, settled, ...counts }: Tally, seed: number): string {
  const first = problems[0]?.seed ?? seed;
  return [
    Object.entries({ ...counts, problems: problems.length })
      .map(([what, count]) => `${count} ${what}`)
      .join(', '),
    [...settled].map(([kind, count]) => `${kind} ${count}`).join(', '),
    `seed ${seed}; to repeat: HOLDFAST_SEED=${first} npm test -- test/replay`,
  ].join('\n');
}
