/** A client that lets one random tree grow after the other, and hears of them on the stream of its session. */
import { seededRandom } from '../chaos/random.ts';
import type { Message, Peer } from '../revision-2025-11-25/peer.ts';
import { Ear } from './ear.ts';
import { randomPlan } from './plans.ts';
import { type Later, PastItsTime, RaisedTree, type Tally, taskOf } from './raised-tree.ts';
import type { Served } from './served.ts';

export class Gardener {
  readonly tally: Tally;
  readonly #peer: Peer;
  readonly #later: Later;
  readonly #ear: Ear;
  /** It raises one after the other, so that everything that it hears is about this one. */
  #tree: RaisedTree | undefined;
  /** Tasks of those before, whose end may be told once more. */
  readonly #past = new Set<string>();
  /** What was said of a tree before its id had come. */
  readonly #early: Message[] = [];

  private constructor(peer: Peer, later: Later, ear: Ear, tally: Tally) {
    this.#peer = peer;
    this.#later = later;
    this.#ear = ear;
    this.tally = tally;
    ear.listen((message) => this.#dispatch(message));
  }

  static async open(server: Served, token: string, tally: Tally): Promise<Gardener> {
    const peer = await server.aware(token);
    const later = { aware: server.later(token), unaware: server.laterUnaware(token) };
    return new Gardener(peer, later, await Ear.open(server.url, peer), tally);
  }

  close(): Promise<void> {
    return this.#ear[Symbol.asyncDispose]();
  }

  /** Lets one tree grow and watches it to its end, and its removal if it is removed soon. */
  async raise(seed: number): Promise<{ readonly tasks: number; readonly removed: Promise<void> }> {
    const random = seededRandom(seed);
    const plan = randomPlan(random);
    const isBrief = random.chance(0.15);
    const tree = new RaisedTree(this.#peer, this.#later, plan, random, this.tally);
    const trace = (error: unknown) => {
      throw new Error(
        `${(error as Error).message}\n  HOLDFAST_TREE=${seed} grows this tree alone.\n  plan: ${JSON.stringify(plan)}\n  what happened:\n    ${tree.trace.join('\n    ')}`,
        { cause: error },
      );
    };
    try {
      await tree.plant(isBrief ? { ttl: 1 } : {});
      this.#tree = tree;
      for (const message of this.#early.splice(0)) this.#dispatch(message);
      await tree.watch();
    } catch (error) {
      if (!(error instanceof PastItsTime)) trace(error);
    }
    for (const id of tree.ids) this.#past.add(id);
    this.#tree = undefined;
    const removed = isBrief ? tree.watchRemoval().catch(trace) : Promise.resolve();
    // Whoever waits for it hears of it; until then nobody may be listening.
    removed.catch(() => {});
    return { tasks: tree.ids.length, removed };
  }

  #dispatch(message: Message): void {
    const about = taskOf(message);
    // Without one it takes back a question.
    if (!about || this.#past.has(about.taskId)) return;
    if (this.#tree) this.#tree.heard(message);
    else this.#early.push(message);
  }
}
