/** Many random trees at once on one server. */
import { Counts } from '../../kit/counts.ts';
import { seedOfThisRun } from '../../kit/random.ts';
import { openEar } from '../revision-2025-11-25/peer.ts';
import { type RaisedTree, raisedTree } from './raised-tree.ts';
import { served } from './served.ts';

const gardeners = 12;

/** `HOLDFAST_SEED` repeats a run; `HOLDFAST_TREE` grows a single one of its trees, again and again. */
export async function growTrees(count: number): Promise<Counts> {
  const seed = seedOfThisRun();
  const only = process.env.HOLDFAST_TREE;
  const tally = new Counts();
  const owners = Array.from({ length: gardeners }, (_, n) => `gardener-${n}`);
  // Long enough for a last look at everything on a busy machine.
  const server = await served({ tokens: owners, concurrency: 128, minRetention: '3s' });
  const began = performance.now();
  // All gardeners take from this, so it is over for all as soon as one of them fails.
  const seeds = (function* () {
    for (let n = 0; n < count; n++) yield only === undefined ? seed + n : Number(only);
  })();
  /** Lets one tree grow after the other, so that everything that it hears is about the last one. */
  const garden = async (owner: string) => {
    const peer = await server.aware(owner);
    const later = { aware: server.later(owner), unaware: server.laterUnaware(owner) };
    const own = { peer, later, tally, past: new Set<string>() };
    const removals: Promise<void>[] = [];
    let tree: RaisedTree | undefined;
    await using _ear = await openEar(peer, (message) => tree?.heard(message));
    for (const one of seeds) {
      tree = raisedTree(own, one);
      removals.push((await tree.raise()).removed);
    }
    await Promise.all(removals);
  };
  await Promise.all(owners.map(garden));
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${seconds} s: ${tally}`);
  return tally;
}
