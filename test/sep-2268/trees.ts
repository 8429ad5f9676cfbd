/** Many random trees at once on one server. */
import { seedOfThisRun } from '../chaos/random.ts';
import { Gardener } from './gardener.ts';
import type { Tally } from './raised-tree.ts';
import { serving } from './served.ts';

const gardeners = 12;

/** `HOLDFAST_SEED` repeats a run; `HOLDFAST_TREE` grows a single one of its trees, again and again. */
export async function growTrees(count: number): Promise<Tally> {
  const seed = seedOfThisRun();
  const only = process.env.HOLDFAST_TREE;
  console.log(`seed ${seed}; to replay: HOLDFAST_SEED=${seed} npx vitest run test/sep-2268/trees`);
  const tally: Tally = new Map();
  const owners = Array.from({ length: gardeners }, (_, n) => `gardener-${n}`);
  // Long enough for a last look at everything on a busy machine.
  const server = await serving({ tokens: owners, concurrency: 128, shortestRetention: '3s' });
  const began = performance.now();
  let next = 0;
  let failure: unknown;
  const removals: Promise<void>[] = [];
  try {
    await Promise.all(
      owners.map(async (owner) => {
        const gardener = await Gardener.open(server, owner, tally);
        try {
          while (next < count && !failure) {
            const n = next++;
            const { removed } = await gardener.raise(only === undefined ? seed + n : Number(only));
            removals.push(removed);
            tally.set('trees', (tally.get('trees') ?? 0) + 1);
          }
        } catch (error) {
          failure ??= error;
        } finally {
          await gardener.close();
        }
      }),
    );
    await Promise.all(removals);
    if (failure) throw failure;
  } finally {
    await server.stop();
  }
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${seconds} s: ${[...tally].map(([what, times]) => `${what} ${times}`).join(', ')}`);
  return tally;
}
