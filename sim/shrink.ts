/** Finds a small set of faults that still makes a seed fail, by leaving out one fault after the other. */
import { type Outcome, simulate } from './run.ts';

/** The time limit: a slow failure is reported with more faults than necessary. */
const maxMs = 20_000;

export async function shrunk(failed: Outcome): Promise<Outcome> {
  const startedAt = process.hrtime.bigint();
  const leftOut = new Set<number>();
  let smallest = failed;
  for (const n of failed.faults.keys()) {
    if (Number(process.hrtime.bigint() - startedAt) / 1e6 > maxMs) break;
    const tried = await simulate(failed.seed, { leaveOut: new Set([...leftOut, n]) });
    if (tried.violations.length === 0) continue;
    leftOut.add(n);
    smallest = tried;
  }
  return smallest;
}
