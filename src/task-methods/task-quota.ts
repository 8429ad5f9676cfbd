/**
 * How many tasks an owner may have, and how many there may be in all. Tasks are counted in the store now and then, and
 * each process adds those that it creates in between. Until it counts again a process creates no more than a small part
 * of what was left, so that several processes stay within a limit together. Near a limit that part is one task, which
 * is stored before the next count.
 */
import type { TaskService } from '../engine/task-service.ts';
import type { Owner } from '../model/task.ts';
import { type Limits, overLimit } from './limits.ts';

/** How long a count is used. */
const usedForMs = 30_000;
/** The same for a count of all tasks that found hardly any room: those who are refused must not cause more counts. */
const fullForMs = 5_000;
/** The part of what is left that one process may create between two counts. */
const share = 1 / 32;
/** … and of all tasks the part of their limit: counting all of them takes long. */
const shareOfAll = 1 / 1_000;
/** Owners with more than this part of the limit of all tasks do not get at its last tenth. */
const modestPart = 1 / 1_000;
const unreserved = 0.9;
/** Owners whose counts are remembered. */
const mostOwners = 10_000;

const kinds = ['live', 'stored'] as const;
type Kind = (typeof kinds)[number];
type Numbers = Readonly<Record<Kind, number>>;

interface Counted extends Numbers {
  /** On the monotonic clock. */
  readonly at: number;
  /** How many this process may create until it counts again. */
  readonly share: number;
  /** How many it has created. */
  created: number;
}

export class TaskQuota {
  readonly #limits: Limits;
  readonly #own: Numbers;
  readonly #all: Numbers;
  readonly #isUnlimited: boolean;
  /** By owner; all tasks under undefined. */
  readonly #counted = new Map<Owner | undefined, Counted>();
  readonly #counting = new Map<Owner | undefined, Promise<void>>();
  /** Tasks on their way into the store. */
  readonly #creating = new Set<Promise<unknown>>();

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#own = { live: limits.liveTasksPerOwner, stored: limits.storedTasksPerOwner };
    this.#all = { live: limits.liveTasks, stored: limits.storedTasks };
    const numbers = [...Object.values(this.#own), ...Object.values(this.#all)];
    this.#isUnlimited = !numbers.some(Number.isFinite);
  }

  /** Creates a task of this owner, if there is room for it. */
  async create<T>(requests: TaskService, owner: Owner, create: () => Promise<T>): Promise<T> {
    if (this.#isUnlimited) return create();
    for (let isRecounted = false; ; ) {
      const own = this.#counted.get(owner);
      const all = this.#counted.get(undefined);
      const { monotonic: now } = requests;
      const full = own && kinds.find((kind) => own[kind] + own.created >= this.#own[kind]);
      // An owner may have made room since: nobody is refused before its tasks are counted again.
      if (full && isRecounted) throw overLimit(this.#limits, `${full}TasksPerOwner`);
      if (!own || full || own.created >= own.share || now - own.at > usedForMs) {
        await this.#count(requests, owner);
        isRecounted = true;
      } else if (!all || all.created >= all.share || now >= this.#usedUntil(all))
        await this.#count(requests, undefined);
      else {
        this.#refuseIfFull(own, all, now);
        // Without a pause since the check: the next call must see this one.
        own.created++;
        all.created++;
        const creating = create();
        const over = () => this.#creating.delete(creating);
        this.#creating.add(creating);
        creating.then(over, over);
        return creating;
      }
    }
  }

  #refuseIfFull(own: Counted, all: Counted, now: number): void {
    for (const kind of kinds) {
      const most = this.#all[kind];
      const room = own[kind] + own.created > most * modestPart ? most * unreserved : most;
      // The caller cannot make room: it can only come back.
      if (all[kind] + all.created >= room)
        throw overLimit(this.#limits, `${kind}Tasks`, Math.max(1_000, this.#usedUntil(all) - now));
    }
  }

  /** Of a count of all tasks. */
  #usedUntil(all: Counted): number {
    const isNearlyFull = kinds.some((kind) => all[kind] >= this.#all[kind] * unreserved);
    return all.at + (isNearlyFull ? fullForMs : usedForMs);
  }

  /** Calls that come at the same time wait for one count. */
  #count(requests: TaskService, owner: Owner | undefined): Promise<void> {
    const counting =
      this.#counting.get(owner) ??
      this.#countNow(requests, owner).finally(() => this.#counting.delete(owner));
    this.#counting.set(owner, counting);
    return counting;
  }

  async #countNow(requests: TaskService, owner: Owner | undefined): Promise<void> {
    // The count would miss tasks that are not stored yet.
    await Promise.allSettled(this.#creating);
    const limits = owner === undefined ? this.#all : this.#own;
    const at = requests.monotonic;
    const count = async (kind: Kind) => {
      // Of an owner without a limit it only matters whether it has hardly any tasks.
      const upTo =
        owner === undefined || Number.isFinite(limits[kind])
          ? limits[kind]
          : Math.ceil(this.#all[kind] * modestPart) + 1;
      return Number.isFinite(upTo) ? requests.count(owner, kind, upTo) : 0;
    };
    const [live, stored] = [await count('live'), await count('stored')];
    const left = Math.min(limits.live - live, limits.stored - stored);
    const ofAll = owner === undefined ? Math.min(limits.live, limits.stored) * shareOfAll : 0;
    if (this.#counted.size > mostOwners) this.#counted.clear();
    this.#counted.set(owner, {
      live,
      stored,
      at,
      share: Math.max(1, Math.floor(left * share), Math.floor(ofAll)),
      created: 0,
    });
  }
}
