/** Simulates the received seeds in its own process, because it replaces globals. */
import './install-world.ts';
import { type Outcome, simulate } from './run.ts';
import { shrunk } from './shrink.ts';

export interface Order {
  readonly seed: number;
  readonly isTraced: boolean;
}

export interface Simulated {
  readonly outcome: Outcome;
  /** The same seed with as few faults as possible; present if it fails. */
  readonly smallest?: Outcome;
}

process.on('message', async ({ seed, isTraced }: Order) => {
  const outcome = await simulate(seed, { isTraced });
  if (outcome.violations.length > 0) answer({ outcome, smallest: await shrunk(outcome) });
  else answer({ outcome: isTraced ? outcome : { ...outcome, trace: [] } });
});

// Exits with the parent process.
process.on('disconnect', () => process.exit());

function answer(simulated: Simulated): void {
  process.send!(simulated);
}
