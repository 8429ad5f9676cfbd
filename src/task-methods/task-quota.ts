/**
 * Limits the number of tasks per owner and in total. A process counts the tasks in the store from time to time, and adds
 * those that it creates between two counts. Between two counts it creates only a small share of the remaining quota, so
 * that several processes together stay within the limit. Near a limit that share is one task, which is stored before the
 * next count.
 */
import type { TaskService } from '../engine/task-service.ts';
import type { Owner } from '../model/task.ts';
import { type Limits, overLimit } from './limits.ts';

/** How long a count is used. */
const usedForMs = 30_000;
/** The same for a count of all tasks near the limit: refusals must not cause more counts. */
const fullForMs = 5_000;
/** The share of the remaining quota that one process may create between two counts. */
const share = 1 / 32;
/** For all tasks: at least this share of their limit, because counting all of them takes long. */
const shareOfAll = 1 / 1_000;
/** Owners with more than this share of the limit of all tasks cannot use its reserved tenth. */
const modestShare = 1 / 1_000;
const unreserved = 0.9;
/** The maximum number of owners with a cached count. */
const maxOwners = 10_000;

const kinds = ['live', 'stored'] as const;
type Kind = (typeof kinds)[number];
type Numbers = Readonly<Record<Kind, number>>;

interface Counted extends Numbers {
  /** By the monotonic clock. */
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
  /** Tasks that are being stored. */
  readonly #creating = new Set<Promise<unknown>>();

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#own = { live: limits.liveTasksPerOwner, stored: limits.storedTasksPerOwner };
    this.#all = { live: limits.liveTasks, stored: limits.storedTasks };
    const numbers = [...Object.values(this.#own), ...Object.values(this.#all)];
    this.#isUnlimited = !numbers.some(Number.isFinite);
  }

  /** Creates a task of this owner, or refuses it if a limit is reached. */
  async create<T>(requests: TaskService, owner: Owner, create: () => Promise<T>): Promise<T> {
    if (this.#isUnlimited) return create();
    for (let isRecounted = false; ; ) {
      const own = this.#counted.get(owner);
      const all = this.#counted.get(undefined);
      const { monotonic: now } = requests;
      const full = own && kinds.find((kind) => own[kind] + own.created >= this.#own[kind]);
      // Count again before a refusal: some tasks of the owner may have ended.
      if (full && isRecounted) throw overLimit(this.#limits, `${full}TasksPerOwner`);
      if (!own || full || own.created >= own.share || now - own.at > usedForMs) {
        await this.#count(requests, owner);
        isRecounted = true;
      } else if (!all || all.created >= all.share || now >= this.#usedUntil(all))
        await this.#count(requests, undefined);
      else {
        this.#refuseIfFull(own, all, now);
        // No await since the check: the next call must see this task.
        own.created++;
        all.created++;
        const creating = create();
        const settled = () => this.#creating.delete(creating);
        this.#creating.add(creating);
        creating.then(settled, settled);
        return creating;
      }
    }
  }

  #refuseIfFull(own: Counted, all: Counted, now: number): void {
    for (const kind of kinds) {
      const max = this.#all[kind];
      const limit = own[kind] + own.created > max * modestShare ? max * unreserved : max;
      // The caller cannot make room, only try again later.
      if (all[kind] + all.created >= limit)
        throw overLimit(this.#limits, `${kind}Tasks`, Math.max(1_000, this.#usedUntil(all) - now));
    }
  }

  /** How long a count of all tasks is used. */
  #usedUntil(all: Counted): number {
    const isNearlyFull = kinds.some((kind) => all[kind] >= this.#all[kind] * unreserved);
    return all.at + (isNearlyFull ? fullForMs : usedForMs);
  }

  /** Concurrent calls share one count. */
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
      // For an owner without a limit it only matters whether it has few tasks.
      const upTo =
        owner === undefined || Number.isFinite(limits[kind])
          ? limits[kind]
          : Math.ceil(this.#all[kind] * modestShare) + 1;
      return Number.isFinite(upTo) ? requests.count(owner, kind, upTo) : 0;
    };
    const [live, stored] = [await count('live'), await count('stored')];
    const left = Math.min(limits.live - live, limits.stored - stored);
    const ofAll = owner === undefined ? Math.min(limits.live, limits.stored) * shareOfAll : 0;
    if (this.#counted.size > maxOwners) this.#counted.clear();
    this.#counted.set(owner, {
      live,
      stored,
      at,
      share: Math.max(1, Math.floor(left * share), Math.floor(ofAll)),
      created: 0,
    });
  }
}
