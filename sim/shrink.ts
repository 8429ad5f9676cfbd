/** The fewest faults that still make a seed fail, as far as leaving them out one after the other can tell. */
import { type Outcome, simulate } from './run.ts';

export async function shrunk(failed: Outcome): Promise<Outcome> {
  const leftOut = new Set<number>();
  let smallest = failed;
  for (const n of failed.faults.keys()) {
    const tried = await simulate(failed.seed, { leaveOut: new Set([...leftOut, n]) });
    if (tried.violations.length === 0) continue;
    leftOut.add(n);
    smallest = tried;
  }
  return smallest;
}
