/**
 * Overviews: how many tasks are live, and how many ended in each interval of time (bucket). Live tasks are counted from
 * their index, finished ones from the index on `ended_at`, one bucket at a time. A past bucket no longer changes and is
 * cached. Operators' queries use buckets on a fixed grid, so a repeated query reads only the new ones.
 */

import type { Owner } from '../../../model/task.ts';
import type { Durations, EndedCounts, LiveCounts, Overview, OverviewQuery } from '../../../ports/query.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { runtime } from '../../../runtime/runtime.ts';
import { classGrowth, type QuerySql, type Range, type Sql } from './sql.ts';
import { statusOfCode } from './status-codes.ts';

/** Commits may be late and clocks may differ by this much. Buckets that ended more recently are not cached. */
const settledAfterMs = 60_000;
/** How many combinations of owner and bucket length are cached. */
const maxCaches = 8;
/** How many buckets of each combination are cached. */
const maxCached = 512;
/** How many buckets are read concurrently, if the database supports it. */
const maxConcurrent = 2;
/** The number of classes of durations (`classGrowth`). The last one starts at more than a hundred years. */
const classes = 600;

/** Finished tasks in a bucket. For each tool a flat list of triples: status code, class of durations, count. */
type Bucket = ReadonlyMap<string, readonly number[]>;

interface Group {
  readonly tool: string;
  /** A status code (`status-codes.ts`). */
  readonly status: number;
  readonly count: number;
}

interface Source {
  all<Row>(sql: Sql): Promise<Row[]>;
}

/** Returns a function that answers overview queries and has its own cache. */
export function overviewsOf(source: Source, sql: QuerySql, clock: Clock) {
  /** Buckets by start time, for each owner and length. The least recently used cache is first. */
  const caches = new Map<string, Map<number, Bucket>>();

  /** The buckets of the queried time range, from the cache or the database. */
  async function bucketsOf(
    { owner, since, until, buckets }: OverviewQuery,
    now: number,
  ): Promise<readonly Bucket[]> {
    const length = (until - since) / buckets;
    const ranges = Array.from({ length: buckets }, (_, n): Range => {
      return { from: since + n * length, before: n === buckets - 1 ? until : since + (n + 1) * length };
    });
    const cache = cacheOf(owner, length);
    const found = new Map(cache);
    // An iterator that the concurrent readers share: each takes the next range.
    const missing = ranges.filter(({ from }) => !found.has(from)).values();
    const read = async () => {
      for (const range of missing) {
        const bucket = await readBucket(range, owner);
        found.set(range.from, bucket);
        if (range.before <= now - settledAfterMs) cache.set(range.from, bucket);
      }
    };
    await Promise.all(Array.from({ length: maxConcurrent }, read));
    dropFirst(cache, maxCached);
    return ranges.map(({ from }) => found.get(from)!);
  }

  async function readBucket(range: Range, owner: Owner | undefined): Promise<Bucket> {
    const bucket = new Map<string, number[]>();
    const groups = await source.all<Group & { class: number }>(sql.endedGroups(range, owner));
    for (const { tool, status, class: duration, count } of groups) {
      const counts = bucket.get(tool) ?? [];
      bucket.set(tool, counts);
      counts.push(status, duration, count);
    }
    return bucket;
  }

  function cacheOf(owner: Owner | undefined, length: number): Map<number, Bucket> {
    const key = JSON.stringify([length, owner ?? null]);
    const cache = caches.get(key) ?? new Map<number, Bucket>();
    caches.delete(key);
    caches.set(key, cache);
    dropFirst(caches, maxCaches);
    return cache;
  }

  return async (query: OverviewQuery): Promise<Overview> => {
    const { owner } = query;
    const now = clock.now();
    const groups = await source.all<Group>(sql.liveGroups(owner));
    const [ready] = await source.all<{ since: number | null }>(sql.readySince(owner, now));
    const buckets = await bucketsOf(query, now);
    const whole = new Tally();
    const byTool = new Map<string, Tally>();
    const toolOf = (tool: string) => {
      const known = byTool.get(tool) ?? new Tally();
      byTool.set(tool, known);
      return known;
    };
    for (const { tool, status, count } of groups)
      for (const tally of [whole, toolOf(tool)]) tally.add(status, 0, count);
    const sums = [];
    for (const bucket of buckets) {
      const own = new Tally();
      for (const [tool, counts] of bucket)
        for (const tally of [whole, own, toolOf(tool)])
          for (let n = 0; n < counts.length; n += 3) tally.add(counts[n]!, counts[n + 1]!, counts[n + 2]!);
      sums.push(own.ended);
      await yieldToEventLoop();
    }
    const busiestFirst = [...byTool].sort(
      ([a, one], [b, other]) => other.total - one.total || (a < b ? -1 : 1),
    );
    const tools = busiestFirst.map(([tool, tally]) => ({ tool, ...tally.live, ...tally.ended }));
    return { live: whole.live, readySince: ready!.since, ended: whole.ended, buckets: sums, tools };
  };
}

/** Counts tasks by status, and the durations of completed and failed ones by class. */
class Tally {
  readonly #counts = {
    ...{ queued: 0, running: 0, waiting: 0 },
    ...{ completed: 0, failed: 0, cancelled: 0, lost: 0 },
  };
  readonly #durations = new Float64Array(classes);

  /** `duration` is a class, and is ignored for tasks that did not complete or fail. */
  add(code: number, duration: number, count: number): void {
    const status = statusOfCode(code);
    if (!status) return;
    this.#counts[status] += count;
    if (status === 'completed' || status === 'failed')
      this.#durations[Math.min(duration, classes - 1)]! += count;
  }

  get total(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count, 0);
  }

  get live(): LiveCounts {
    const { queued, running, waiting } = this.#counts;
    return { queued, running, waiting };
  }

  get ended(): EndedCounts & Durations {
    const { completed, failed, cancelled, lost } = this.#counts;
    return {
      ...{ completed, failed, cancelled, lost },
      ...{ medianMs: this.#quantile(0.5), p95Ms: this.#quantile(0.95) },
    };
  }

  /** A quantile of the durations in milliseconds; null without completed or failed tasks. */
  #quantile(share: number): number | null {
    const all = this.#counts.completed + this.#counts.failed;
    if (all === 0) return null;
    // How many more durations to pass. `at` is the class that contains the quantile.
    let left = Math.max(1, Math.ceil(all * share));
    let at = 0;
    for (; at < classes - 1 && left > this.#durations[at]!; at++) left -= this.#durations[at]!;
    return Math.round(Math.expm1(at * classGrowth));
  }
}

/** Deletes the oldest entries, so that `max` are left. */
function dropFirst(map: Map<unknown, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => runtime.setImmediate(resolve));
}
