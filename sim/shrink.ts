/** The fewest faults that still make a seed fail, as far as leaving them out one after the other can tell. */
import { type Outcome, simulate } from './run.ts';

/** Nobody waits for long: a failure that takes a million turns each time is told with more faults than it needs. */
const mostMs = 20_000;

export async function shrunk(failed: Outcome): Promise<Outcome> {
  const begun = process.hrtime.bigint();
  const leftOut = new Set<number>();
  let smallest = failed;
  for (const n of failed.faults.keys()) {
    if (Number(process.hrtime.bigint() - begun) / 1e6 > mostMs) break;
    const tried = await simulate(failed.seed, { leaveOut: new Set([...leftOut, n]) });
    if (tried.violations.length === 0) continue;
    leftOut.add(n);
    smallest = tried;
  }
  return smallest;
}
