/** One list: its rows, where it goes on, how many there are. It outlives its page, so that one comes back to it as it was. */
import { effect, signal } from '@preact/signals';
import type { TaskPage } from '../../../src/operator/api.ts';
import type { TaskCount } from '../../../src/ports/query.ts';
import { type HttpDesk, Offline, Unauthorized } from '../api.ts';
import { preciseNow, whenClockSet } from '../clock.ts';
import { type Changes, connection, onChanges, whenConnected } from '../live.ts';
import { href, type ListFilter } from '../router.ts';
import { desk, signOut } from '../session.ts';
import { matches, surveyFilter } from './matching.ts';
import { Rows } from './rows.ts';

const firstPage = 100;
const laterPage = 250;
const largestPage = 500;
const countEveryMs = 4_000;
/** A list that was watched for hours begins anew rather than grow on. */
const mostRows = 20_000;

export class ListModel {
  readonly rows = new Rows();
  /** Raised whenever something of the list changed; whoever shows it looks then. */
  readonly changed = signal(0);
  readonly total = signal<TaskCount | undefined>(undefined);
  readonly loading = signal<'first' | 'more' | undefined>('first');
  readonly error = signal<unknown>(undefined);
  /** Whether somebody reads further down; set by whoever shows it. */
  isRead = false;
  /** What came with the last change, for a short while of attention. */
  fresh: ReadonlySet<string> = new Set();

  readonly #desk: HttpDesk;
  readonly #filter: ListFilter;
  #survey;
  #cursor: string | undefined;
  #round = 0;
  #countTimer: ReturnType<typeof setTimeout> | undefined;
  #lastCounted = Number.NEGATIVE_INFINITY;
  readonly #stops: (() => void)[];

  constructor(from: HttpDesk, filter: ListFilter) {
    this.#desk = from;
    this.#filter = filter;
    this.#survey = surveyFilter(filter, preciseNow());
    this.#stops = [
      onChanges((changes) => this.#apply(changes)),
      connection.subscribe(({ state }) => {
        if (state === 'live' && this.error.peek() instanceof Offline) this.retry();
      }),
    ];
    void whenConnected().then(() => this.#reload());
  }

  dispose(): void {
    this.#round++;
    clearTimeout(this.#countTimer);
    for (const stop of this.#stops) stop();
  }

  get isComplete(): boolean {
    return this.loading.value !== 'first' && this.#cursor === undefined;
  }

  /** Shows what was held back. */
  settle(): void {
    if (this.rows.held.isMore || this.rows.length > mostRows) return void this.#reload();
    this.fresh = this.rows.settle();
    this.changed.value++;
  }

  async loadMore(): Promise<void> {
    if (this.loading.peek() || this.#cursor === undefined || this.error.peek() !== undefined) return;
    this.loading.value = 'more';
    await this.#attempt(async (isCurrent) => {
      const before = this.rows.length;
      // A page may be empty without being the last.
      while (this.#cursor !== undefined && this.rows.length === before) {
        const page = await this.#desk.list({ ...this.#survey, limit: laterPage, cursor: this.#cursor });
        if (!isCurrent()) return;
        this.rows.append(page.tasks);
        this.#cursor = page.nextCursor;
      }
    });
  }

  readonly retry = (): void => {
    this.error.value = undefined;
    if (this.rows.length === 0) void this.#reload();
    else void this.loadMore();
  };

  /** Everything anew, as far down as it was loaded; what is shown stays until it is there. */
  async #reload(): Promise<void> {
    this.#round++;
    this.loading.value = this.rows.length === 0 ? 'first' : 'more';
    await this.#attempt(async (isCurrent) => {
      // A server that is away says nothing, and the list is to say that.
      if (this.#filter.age && connection.peek().state === 'live') await whenClockSet();
      if (!isCurrent()) return;
      this.#survey = surveyFilter(this.#filter, preciseNow());
      this.#count(0);
      const wanted = this.isRead ? Math.min(this.rows.length, mostRows) : firstPage;
      const pages: TaskPage[] = [];
      let cursor: string | undefined;
      let loaded = 0;
      do {
        const limit = Math.min(Math.max(wanted - loaded, firstPage), largestPage);
        const page = await this.#desk.list({
          ...this.#survey,
          limit,
          ...(cursor !== undefined && { cursor }),
        });
        if (!isCurrent()) return;
        pages.push(page);
        cursor = page.nextCursor;
        loaded += page.tasks.length;
      } while (loaded < wanted && cursor !== undefined);
      // Whoever reads further down keeps their place: what is newer than all that they have is held back.
      const first = this.rows.ids[0];
      const newest = this.isRead && first !== undefined ? this.rows.get(first)!.createdAt : Number.MAX_VALUE;
      this.rows.clear();
      for (const { tasks, nextCursor } of pages) {
        this.#cursor = nextCursor;
        this.rows.append(tasks.filter(({ createdAt }) => createdAt <= newest));
        for (const task of tasks) if (task.createdAt > newest) this.rows.put(task, true, true);
      }
    });
  }

  /** Does it unless the list began anew meanwhile, and makes known how it went. */
  async #attempt(load: (isCurrent: () => boolean) => Promise<void>): Promise<void> {
    const round = this.#round;
    const isCurrent = () => round === this.#round;
    try {
      await load(isCurrent);
      if (isCurrent()) this.error.value = undefined;
    } catch (error) {
      if (!isCurrent()) return;
      if (error instanceof Unauthorized) return signOut('refused');
      this.error.value = error;
    } finally {
      if (isCurrent()) {
        this.loading.value = undefined;
        this.changed.value++;
      }
    }
  }

  #apply({ tasks, subtasks, removed, reset }: Changes): void {
    if (reset) return void this.#reload();
    if (this.loading.peek() === 'first') return this.#applyAfterLoading({ tasks, subtasks, removed, reset });
    const last = this.rows.ids.at(-1);
    const reach = this.#cursor === undefined || last === undefined ? 0 : this.rows.get(last)!.createdAt;
    for (const task of [...tasks, ...subtasks])
      this.rows.put(task, matches(task, this.#survey), task.createdAt >= reach);
    for (const id of removed) this.rows.remove(id);
    this.#count(countEveryMs);
    if (this.isRead) this.changed.value++;
    else this.settle();
  }

  /** What is told while the first page is on its way may be newer than the page. */
  #applyAfterLoading(changes: Changes): void {
    const stop = this.loading.subscribe((loading) => {
      if (loading === 'first') return;
      queueMicrotask(() => {
        stop();
        this.#apply(changes);
      });
    });
  }

  #count(ms: number): void {
    if (this.#countTimer !== undefined) return;
    const wait = Math.max(0, this.#lastCounted + ms - performance.now());
    this.#countTimer = setTimeout(async () => {
      this.#lastCounted = performance.now();
      try {
        this.total.value = await this.#desk.count(this.#survey);
      } catch {
        // How many there are is a courtesy; the list itself says what is wrong.
      }
      this.#countTimer = undefined;
    }, wait);
  }
}

const kept = new Map<string, ListModel>();
const mostKept = 3;

/** The list of a filter: the one that was seen before if it is one of the last few. */
export function modelFor(from: HttpDesk, filter: ListFilter): ListModel {
  const key = href({ view: 'tasks', filter });
  const model = kept.get(key) ?? new ListModel(from, filter);
  kept.delete(key);
  kept.set(key, model);
  for (const [oldest, other] of [...kept].slice(0, -mostKept)) {
    other.dispose();
    kept.delete(oldest);
  }
  return model;
}

// What one token showed is nothing for the next.
effect(() => {
  desk.value;
  for (const model of kept.values()) model.dispose();
  kept.clear();
});
