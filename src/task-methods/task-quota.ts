/**
 * Limits the number of tasks per owner and in total. A process counts the tasks in the store from time to time, and
 * adds those that it creates between two counts. Between two counts it creates only a small share of the remaining
 * quota, so that several processes together stay within the limit. Near a limit that share is a single task: the next
 * one is created only after that task is stored and counted.
 */
import type { TaskService } from '../engine/task-service.ts';
import type { Owner } from '../model/task.ts';
import { type Limits, overLimit } from './limits.ts';

/** How long a count is used before the tasks are counted again. */
const usedForMs = 30_000;
/**
 * The same for a count of all tasks near the limit. A shorter time, so that callers notice earlier that there is room
 * again; refusals in between do not count again.
 */
const fullForMs = 5_000;
/** The share of the remaining quota that one process may create between two counts. */
const share = 1 / 32;
/**
 * The same for all owners together is at least this share of the whole limit, because counting all tasks takes long.
 */
const shareOfAll = 1 / 1_000;
/** The last tenth of the limit of all tasks is reserved for owners that have at most this share of it. */
const modestShare = 1 / 1_000;
/** The share of the limit of all tasks that every owner can use. */
const unreserved = 0.9;
/** The maximum number of cached counts. Beyond it, all are dropped. */
const maxOwners = 10_000;

const kinds = ['live', 'stored'] as const;
type Kind = (typeof kinds)[number];
type Numbers = Readonly<Record<Kind, number>>;

interface Counted extends Numbers {
  /** By the monotonic clock. */
  readonly at: number;
  /** How many tasks this process may create until it counts again. */
  readonly share: number;
  /** How many tasks it has created since the count. */
  created: number;
}

export class TaskQuota {
  readonly #limits: Limits;
  /** The limits for one owner. */
  readonly #own: Numbers;
  /** The limits for all owners together. */
  readonly #all: Numbers;
  readonly #isUnlimited: boolean;
  /** The last count of each owner; the key undefined is for all tasks. */
  readonly #counted = new Map<Owner | undefined, Counted>();
  /** Counts that have not returned yet, by the same keys. */
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

  /** Runs `create`, which stores a task of this owner, or throws if a limit is reached. Counts first if necessary. */
  async create<T>(requests: TaskService, owner: Owner, create: () => Promise<T>): Promise<T> {
    if (this.#isUnlimited) return create();
    for (let isRecounted = false; ; ) {
      const own = this.#counted.get(owner);
      const all = this.#counted.get(undefined);
      const { monotonic: now } = requests;
      const full = own && kinds.find((kind) => own[kind] + own.created >= this.#own[kind]);
      // Refuses only after a count of its own: since the last one, some tasks of the owner may have ended.
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

  /** Throws if the owner cannot have another task because there are too many tasks of all owners. */
  #refuseIfFull(own: Counted, all: Counted, now: number): void {
    for (const kind of kinds) {
      const max = this.#all[kind];
      const limit = own[kind] + own.created > max * modestShare ? max * unreserved : max;
      // The caller cannot make room, so the error contains the time until the next count: at least a second.
      if (all[kind] + all.created >= limit)
        throw overLimit(this.#limits, `${kind}Tasks`, Math.max(1_000, this.#usedUntil(all) - now));
    }
  }

  /** The time, by the monotonic clock, until which a count of all tasks is used. */
  #usedUntil(all: Counted): number {
    const isNearlyFull = kinds.some((kind) => all[kind] >= this.#all[kind] * unreserved);
    return all.at + (isNearlyFull ? fullForMs : usedForMs);
  }

  /** Counts the tasks of an owner, or of all without `owner`. Concurrent calls share one count. */
  #count(requests: TaskService, owner: Owner | undefined): Promise<void> {
    const counting =
      this.#counting.get(owner) ??
      this.#countNow(requests, owner).finally(() => this.#counting.delete(owner));
    this.#counting.set(owner, counting);
    return counting;
  }

  async #countNow(requests: TaskService, owner: Owner | undefined): Promise<void> {
    // Wait for tasks that are being stored: the count would miss them.
    await Promise.allSettled(this.#creating);
    const limits = owner === undefined ? this.#all : this.#own;
    const at = requests.monotonic;
    const count = async (kind: Kind) => {
      // For an owner without its own limit, count only far enough to know whether it may use the reserved tenth.
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
