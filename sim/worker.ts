/** Simulates the seeds that it is sent, in a process of its own: what it replaces is gone with it. */
import './install-world.ts';
import { type Outcome, simulate } from './run.ts';
import { shrunk } from './shrink.ts';

export interface Order {
  readonly seed: number;
  readonly isTraced: boolean;
}

export interface Simulated {
  readonly outcome: Outcome;
  /** The same with as few faults as still make it fail; there if it fails. */
  readonly smallest?: Outcome;
}

process.on('message', async ({ seed, isTraced }: Order) => {
  const outcome = await simulate(seed, { isTraced });
  if (outcome.violations.length > 0) answer({ outcome, smallest: await shrunk(outcome) });
  else answer({ outcome: isTraced ? outcome : { ...outcome, trace: [] } });
});

// The process that sent the seeds is gone.
process.on('disconnect', () => process.exit());

function answer(simulated: Simulated): void {
  process.send!(simulated);
}
