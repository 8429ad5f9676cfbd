/** A database with faults: busy, full, slow, or committed without an answer. */
import { type Around, decorated, forwarded } from '../src/engine/database/decorator.ts';
import type { Claim, Database, Queue } from '../src/ports/queue.ts';
import { StoreError, StoreTimedOut } from '../src/ports/store-errors.ts';
import { pause } from '../src/runtime/runtime.ts';

export interface StoreState {
  fails: 'busy' | 'full' | undefined;
  slowMs: number;
  /** The number of next commands that are executed but whose answers are lost. */
  losesAnswers: number;
}

const place = 'the simulated database';

export function faulty(
  database: Database,
  state: StoreState,
  renewed: (claims: readonly Claim[]) => void,
): Database {
  const around: Around = {
    read: async (act) => {
      if (state.slowMs > 0) await pause(state.slowMs);
      return act();
    },
    /** Writes may fail; reads are only slow. */
    write: async (act) => {
      if (state.slowMs > 0) await pause(state.slowMs);
      if (state.fails === 'busy') throw new StoreError('STORE_BUSY', place, 'it is locked', 'Try again.');
      if (state.fails === 'full')
        throw new StoreError('STORE_FULL', place, 'the disk is full', 'Free some space.');
      const value = await act();
      if (state.losesAnswers > 0) {
        state.losesAnswers--;
        throw new StoreTimedOut(5_000, true);
      }
      return value;
    },
  };
  const { queue } = database;
  const renew: Queue['renew'] = async (claims, leaseMs) => {
    const lost = await queue.renew(claims, leaseMs);
    renewed(claims.filter((claim) => !lost.includes(claim)));
    return lost;
  };
  const same = forwarded(database, ['queue']);
  const observed = { ...same, queue: { ...same.queue, renew } };
  return decorated(observed, around, ['store', 'queue', 'sessions', 'calls']);
}
