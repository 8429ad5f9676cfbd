/** Many random trees at once on one server. */
import { seedOfThisRun } from '../../techniques/chaos/random.ts';
import { Ear } from './ear.ts';
import { RaisedTree, type Tally } from './raised-tree.ts';
import { type Served, serving } from './served.ts';

const gardeners = 12;

/** `HOLDFAST_SEED` repeats a run; `HOLDFAST_TREE` grows a single one of its trees, again and again. */
export async function growTrees(count: number): Promise<Tally> {
  const seed = seedOfThisRun();
  const only = process.env.HOLDFAST_TREE;
  console.log(`seed ${seed}; to replay: HOLDFAST_SEED=${seed} npx vitest run test/dialects/sep-2268/trees`);
  const tally: Tally = new Map();
  const owners = Array.from({ length: gardeners }, (_, n) => `gardener-${n}`);
  // Long enough for a last look at everything on a busy machine.
  const server = await serving({ tokens: owners, concurrency: 128, shortestRetention: '3s' });
  const began = performance.now();
  let next = 0;
  const nextSeed = () => {
    const n = next++;
    if (n < count) return only === undefined ? seed + n : Number(only);
    return undefined;
  };
  try {
    const gardens = owners.map((owner) => garden(server, owner, nextSeed, tally));
    await Promise.all(gardens).finally(() => {
      next = count;
    });
  } finally {
    await server.stop();
  }
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${seconds} s: ${[...tally].map(([what, times]) => `${what} ${times}`).join(', ')}`);
  return tally;
}

/** Lets one tree grow after the other, so that everything that it hears is about the last one. */
async function garden(server: Served, owner: string, nextSeed: () => number | undefined, tally: Tally) {
  const peer = await server.aware(owner);
  const later = { aware: server.later(owner), unaware: server.laterUnaware(owner) };
  const removals: Promise<void>[] = [];
  const own = { peer, later, tally, past: new Set<string>() };
  let tree: RaisedTree | undefined;
  await using _ear = await Ear.open(peer, (message) => tree?.heard(message));
  for (let seed = nextSeed(); seed !== undefined; seed = nextSeed()) {
    tree = new RaisedTree(own, seed);
    await tree.raise();
    removals.push(tree.removed);
  }
  await Promise.all(removals);
}
