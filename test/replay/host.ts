/** The worker's part, played for one pass: commits that take their time, and deaths at the worst moments. */
import { advance } from '../../src/engine/advance.ts';
import type { Call, Seen } from '../../src/engine/call.ts';
import { compose, type Verdict } from '../../src/engine/change.ts';
import type { Batch } from '../../src/engine/journal.ts';
import { unobservedPass } from '../../src/engine/observer.ts';
import type { PassHost } from '../../src/engine/pass-host.ts';
import type { Claim } from '../../src/engine/queue.ts';
import * as rules from '../../src/engine/transitions.ts';
import { TaskMoved } from '../../src/model/errors.ts';
import type { Task, TaskId } from '../../src/model/task.ts';
import type { World } from './world.ts';

/** What becomes of a commit: all is well; the worker died before it, or after it and before it could hear of it. */
export type Fate = 'heard' | 'lost' | 'unheard';

export interface Manners {
  readonly lingerMs: number;
  /** How long the store takes. */
  pause(): Promise<void>;
  /** Of a commit to the journal. */
  fate(): Fate;
  /** The worker dies now. */
  die(): void;
}

export class Host implements PassHost {
  readonly taskId: TaskId;
  readonly lingerMs: number;
  readonly longestJournal = 10_000;
  readonly mostOpenCalls = 10_000;
  readonly largestValue = 10_000;
  readonly observed = unobservedPass;
  /** Commits and looks that are under way. */
  underWay = 0;
  /** Grows with everything that a pass asks for. */
  asked = 0;
  /** What no pass may ask of its worker. */
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #claim: Claim;
  readonly #manners: Manners;
  #seen: Task;
  #isStale = false;

  constructor(world: World, claim: Claim, manners: Manners) {
    this.taskId = world.taskId;
    this.lingerMs = manners.lingerMs;
    this.#world = world;
    this.#claim = claim;
    this.#manners = manners;
    this.#seen = world.task;
  }

  now(): number {
    this.asked++;
    return this.#world.now;
  }

  isHeld(): boolean {
    return true;
  }

  began(): void {}

  schedule(at: number, callback: () => void): () => void {
    this.asked++;
    if (!(at > this.#world.now)) this.problems.push(`An alarm was set to ${at}, at ${this.#world.now}`);
    return this.#world.schedule(at, callback);
  }

  commit(batch: Batch, calls: readonly Call[]): Promise<Task> {
    return this.#lasting(async () => {
      const keys = new Map<Call, string>();
      await this.#write(true, (task) => this.#advanced(task, batch, calls, keys));
      for (const [call, key] of keys) call.key = key;
      return this.#seen;
    });
  }

  interrupts(): boolean {
    return false;
  }

  look(_unread: readonly TaskId[], awaited: ReadonlyMap<TaskId, unknown>): Promise<Seen> {
    return this.#lasting(async () => {
      await this.#manners.pause();
      const done = [...awaited.keys()]
        .map((id) => this.#world.read(id))
        .flatMap((child) => (child?.phase === 'done' ? [[child.id, child.outcome] as const] : []));
      this.#sees(this.#world.task);
      return { task: this.#seen, children: new Map(done), isAll: true };
    });
  }

  park(until: number | null, batch: Batch | undefined, calls: readonly Call[]): Promise<boolean> {
    const seenVersion = this.#seen.version;
    if (this.#isStale) this.problems.push('A park that was refused was tried again without a look');
    return this.#lasting(async () => {
      try {
        await this.#write(batch !== undefined, (task) => {
          if (task.version !== seenVersion) return new TaskMoved(task.id, seenVersion, task.version);
          const before = batch
            ? this.#advanced(task, batch, calls, new Map())
            : rules.report(task, this.#claim, {}, this.#world.now);
          return compose(before, (now) =>
            rules.park(now, this.#claim, { seenVersion: now.version, until }, this.#world.now),
          );
        });
        return true;
      } catch (error) {
        if (!(error instanceof TaskMoved)) throw error;
        this.#isStale = true;
        return false;
      }
    });
  }

  #advanced(task: Task, batch: Batch, calls: readonly Call[], keys: Map<Call, string>) {
    return advance(task, this.#claim, { batch, calls, report: {} }, this.#world.now, keys);
  }

  async #write(toJournal: boolean, decide: (task: Task) => Verdict): Promise<void> {
    await this.#manners.pause();
    const fate = toJournal ? this.#manners.fate() : 'heard';
    if (fate === 'lost') return this.#die();
    this.#sees(this.#world.update(decide));
    if (fate === 'unheard') return this.#die();
    await this.#manners.pause();
  }

  #sees(task: Task): void {
    this.#seen = task;
    this.#isStale = false;
  }

  /** The dead hear nothing. */
  #die(): Promise<never> {
    this.#manners.die();
    return new Promise(() => {});
  }

  async #lasting<T>(act: () => Promise<T>): Promise<T> {
    this.asked++;
    this.underWay++;
    try {
      return await act();
    } finally {
      this.underWay--;
      this.asked++;
    }
  }
}
