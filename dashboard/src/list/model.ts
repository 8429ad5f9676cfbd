/** One list: its rows, cursor and total. It outlives its page, so that a user who returns finds it unchanged. */
import { effect, signal } from '@preact/signals';
import type { TaskPage } from '../../../src/operator/api.ts';
import type { TaskCount } from '../../../src/ports/query.ts';
import { type HttpOperatorApi, Offline, Unauthorized } from '../api.ts';
import { preciseNow, whenClockSet } from '../clock.ts';
import { type Changes, connection, onChanges, whenConnected } from '../live.ts';
import { href, type ListFilter } from '../router.ts';
import { operatorApi, signOut } from '../session.ts';
import { matches, queryFilter } from './matching.ts';
import { Rows } from './rows.ts';

const firstPage = 100;
const laterPage = 250;
const maxPage = 500;
const countEveryMs = 4_000;
/** A longer list is reloaded instead of growing further. */
const maxRows = 20_000;

export class ListModel {
  readonly rows = new Rows();
  /** Incremented whenever the list changes, to redraw it. */
  readonly changed = signal(0);
  readonly total = signal<TaskCount | undefined>(undefined);
  readonly loading = signal<'first' | 'more' | undefined>('first');
  readonly error = signal<unknown>(undefined);
  /** Whether the user has scrolled down; set by the page. */
  isRead = false;
  /** The rows that the last change added, to highlight them briefly. */
  fresh: ReadonlySet<string> = new Set();

  readonly #api: HttpOperatorApi;
  readonly #filter: ListFilter;
  #query;
  #cursor: string | undefined;
  #round = 0;
  #countTimer: ReturnType<typeof setTimeout> | undefined;
  #lastCounted = Number.NEGATIVE_INFINITY;
  readonly #stops: (() => void)[];

  constructor(api: HttpOperatorApi, filter: ListFilter) {
    this.#api = api;
    this.#filter = filter;
    this.#query = queryFilter(filter, preciseNow());
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

  /** Shows the tasks that were held back. */
  settle(): void {
    if (this.rows.held.isMore || this.rows.length > maxRows) return void this.#reload();
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
        const page = await this.#api.list({ ...this.#query, limit: laterPage, cursor: this.#cursor });
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

  /** Reloads everything down to where it was loaded. The old rows stay until the new ones arrive. */
  async #reload(): Promise<void> {
    this.#round++;
    this.loading.value = this.rows.length === 0 ? 'first' : 'more';
    await this.#attempt(async (isCurrent) => {
      // Without a connection the clock is never set; the request must fail instead, so that the list shows why.
      if (this.#filter.age && connection.peek().state === 'live') await whenClockSet();
      if (!isCurrent()) return;
      this.#query = queryFilter(this.#filter, preciseNow());
      this.#count(0);
      const wanted = this.isRead ? Math.min(this.rows.length, maxRows) : firstPage;
      const pages: TaskPage[] = [];
      let cursor: string | undefined;
      let loaded = 0;
      do {
        const limit = Math.min(Math.max(wanted - loaded, firstPage), maxPage);
        const page = await this.#api.list({
          ...this.#query,
          limit,
          ...(cursor !== undefined && { cursor }),
        });
        if (!isCurrent()) return;
        pages.push(page);
        cursor = page.nextCursor;
        loaded += page.tasks.length;
      } while (loaded < wanted && cursor !== undefined);
      // A user who has scrolled down keeps the position: tasks newer than the first row are held back.
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

  /** Loads and records the result, unless a later reload replaced this one. */
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
      this.rows.put(task, matches(task, this.#query), task.createdAt >= reach);
    for (const id of removed) this.rows.remove(id);
    this.#count(countEveryMs);
    if (this.isRead) this.changed.value++;
    else this.settle();
  }

  /** Changes that arrive while the first page is loading may be newer than the page. */
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
        this.total.value = await this.#api.count(this.#query);
      } catch {
        // The total is optional; the list itself shows the error.
      }
      this.#countTimer = undefined;
    }, wait);
  }
}

const cache = new Map<string, ListModel>();
const maxCached = 3;

/** The list for a filter. The last few lists are cached. */
export function modelFor(api: HttpOperatorApi, filter: ListFilter): ListModel {
  const key = href({ view: 'tasks', filter });
  const model = cache.get(key) ?? new ListModel(api, filter);
  cache.delete(key);
  cache.set(key, model);
  for (const [oldest, other] of [...cache].slice(0, -maxCached)) {
    other.dispose();
    cache.delete(oldest);
  }
  return model;
}

// A different token may see different tasks.
effect(() => {
  operatorApi.value;
  for (const model of cache.values()) model.dispose();
  cache.clear();
});
