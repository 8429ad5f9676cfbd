/** Random sequences of commands, put to the rules and to a database at once. */
import fc from 'fast-check';
import type { Database } from '../../../src/ports/queue.ts';
import type { ManualClock } from '../../../src/testing/manual-clock.ts';
import { Counts } from '../../kit/counts.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { command } from './commands.ts';
import { openWorld } from './world.ts';

const seed = seedOfThisRun();
export const perRun = 250;

export async function driveRandomly(
  open: () => Promise<{ open: (clock: ManualClock) => Promise<Database>; remove: () => Promise<void> }>,
  connections: number,
  { runs, shrinks = true }: { readonly runs: number; readonly shrinks?: boolean },
) {
  const tally = { commands: 0, /** How often each event and each refusal was seen. */ seen: new Counts() };
  const sequence = fc.array(command, { minLength: perRun, maxLength: perRun, size: 'max' });
  await fc.assert(
    fc.asyncProperty(sequence, async (commands) => {
      const place = await open();
      const world = await openWorld(place.open, connections, tally.seen);
      try {
        for (const one of commands) {
          await world.perform(one);
          if (++tally.commands % 50 === 0) await world.compareAll();
        }
        await world.compareAll();
      } finally {
        await world.close();
        await place.remove();
      }
    }),
    { seed, numRuns: runs, endOnFailure: !shrinks },
  );
  console.log(`${tally.commands} commands: ${tally.seen}`);
  return tally;
}

/** Every event must have happened and every rule have refused, or the commands are too tame to prove anything. */
export const everything = [
  'created claimed rested recorded reported asked answered withdrawn childStarted childDone parked released',
  'held finished removed awaited published handedOver delivering undelivered stuck isolated completed',
  'ALREADY_PUBLISHED BAD_ANSWER BEING_DELIVERED CLAIM_LOST DEADLINE_NOT_REACHED IDEMPOTENCY_KEY_REUSED',
  'NOT_A_ROOT NOT_CLAIMABLE STILL_ALIVE STILL_RETAINED TASK_EXISTS TASK_IS_DONE TASK_IS_ENDING TASK_MOVED',
  'TASK_NOT_FOUND',
].flatMap((names) => names.split(' '));
