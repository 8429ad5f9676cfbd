/**
 * What an overview tells, summed up of live tasks by their index and of ended ones by the moment of their end. Of
 * stretches that are over for good the sums are remembered in small cells, so that the next look reads only what is
 * new, and what lies across a border of its buckets.
 */
import type { Durations, EndedCounts, LiveCounts, Overview, OverviewQuery } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import type { Owner } from '../../model/task.ts';
import { Histogram } from './histogram.ts';
import { standingAt } from './standing-codes.ts';
import type { EndedRow, SurveySource } from './survey-source.ts';

/** A commit may be that late, and clocks that different: younger cells are read anew. */
const settledAfterMs = 60_000;
/** A bucket has at least so many cells, so that only few of them lie across its borders. */
const cellsPerBucket = 20;
const cellLengths = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 86_400_000];
/** For how many owners, and lengths of cells, sums are remembered, and how many cells of each. */
const memories = 8;
const mostCells = 4_096;
const cellsPerTurn = 32;

type Ended = EndedCounts & Durations;

class Tally {
  readonly counts = { completed: 0, failed: 0, cancelled: 0, lost: 0 };
  readonly #durations = new Histogram();

  add({ standing, durationMs, count }: EndedRow): void {
    if (!(standing in this.counts)) return;
    this.counts[standing as keyof EndedCounts] += count;
    if (standing === 'completed' || standing === 'failed') this.#durations.add(durationMs, count);
  }

  merge(other: Tally): void {
    for (const one of ['completed', 'failed', 'cancelled', 'lost'] as const)
      this.counts[one] += other.counts[one];
    this.#durations.merge(other.#durations);
  }

  get told(): Ended {
    return {
      ...this.counts,
      medianMs: this.#durations.quantile(0.5),
      p95Ms: this.#durations.quantile(0.95),
    };
  }
}

/** What ended in one cell, by tool. */
type Cell = Map<string, Tally>;

/** What is being summed up: the whole, its buckets, and each tool. */
class Sums {
  readonly whole = new Tally();
  readonly buckets: Tally[];
  readonly tools = new Map<string, Tally>();

  constructor(buckets: number) {
    this.buckets = Array.from({ length: buckets }, () => new Tally());
  }

  add(bucket: number, row: EndedRow): void {
    for (const tally of [this.whole, this.buckets[bucket]!, tallyIn(this.tools, row.tool)]) tally.add(row);
  }

  merge(bucket: number, cell: Cell): void {
    for (const [tool, tally] of cell)
      for (const sum of [this.whole, this.buckets[bucket]!, tallyIn(this.tools, tool)]) sum.merge(tally);
  }
}

export class Overviews {
  readonly #source: SurveySource;
  readonly #clock: Clock;
  /** By owner and length of cells; the least recently used first. */
  readonly #memories = new Map<string, Map<number, Cell>>();

  constructor(source: SurveySource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  async look(query: OverviewQuery): Promise<Overview> {
    const { owner } = query;
    const now = this.#clock.now();
    const sums = await this.#ended(query, now);
    const live = await this.#live(owner);
    const readySince = await this.#source.readySince(owner, now);
    const tools = [...new Set([...sums.tools.keys(), ...live.tools.keys()])].map((tool) => ({
      tool,
      ...(live.tools.get(tool) ?? noneLive()),
      ...(sums.tools.get(tool) ?? new Tally()).told,
    }));
    tools.sort((a, b) => weightOf(b) - weightOf(a) || (a.tool < b.tool ? -1 : 1));
    return {
      live: live.whole,
      readySince,
      ended: sums.whole.told,
      buckets: sums.buckets.map((tally) => tally.told),
      tools,
    };
  }

  async #live(owner: Owner | undefined): Promise<{ whole: LiveCounts; tools: Map<string, LiveCounts> }> {
    const whole = noneLive();
    const tools = new Map<string, ReturnType<typeof noneLive>>();
    for (const { tool, standing: code, count } of await this.#source.liveGroups(owner)) {
      const standing = standingAt(code);
      if (standing === undefined || !(standing in whole)) continue;
      const own = tools.get(tool) ?? noneLive();
      tools.set(tool, own);
      for (const counts of [whole, own]) counts[standing as keyof LiveCounts] += count;
    }
    return { whole, tools };
  }

  async #ended({ owner, since, until, buckets }: OverviewQuery, now: number): Promise<Sums> {
    const sums = new Sums(buckets);
    const length = (until - since) / buckets;
    const bucketOf = (at: number) => Math.min(buckets - 1, Math.floor((at - since) / length));
    const cellMs = cellLengths.findLast((one) => one * cellsPerBucket <= length) ?? cellLengths[0]!;
    const memory = this.#memoryOf(owner, cellMs);
    const isWhole = (start: number) =>
      start >= since &&
      start + cellMs <= until &&
      start + cellMs <= now - settledAfterMs &&
      bucketOf(start) === bucketOf(start + cellMs - 1);
    const fresh = new Map<number, Cell>();
    const take = (row: EndedRow) => {
      const start = Math.floor(row.endedAt / cellMs) * cellMs;
      const cell = fresh.get(start);
      if (cell) tallyIn(cell, row.tool).add(row);
      else sums.add(bucketOf(row.endedAt), row);
    };
    for (const { from, to } of this.#missing({ since, until, cellMs, isWhole, memory, fresh }))
      await this.#source.ended({ owner, from, until: to, take });
    for (const [start, cell] of fresh) memory.set(start, cell);
    let turns = 0;
    for (const [start, cell] of memory) {
      if (!isWhole(start)) continue;
      sums.merge(bucketOf(start), cell);
      if (++turns % cellsPerTurn === 0) await this.#source.turn();
    }
    for (const start of memory.keys()) {
      if (memory.size <= mostCells) break;
      memory.delete(start);
    }
    return sums;
  }

  /** What must be read, in as few stretches as possible; whole cells among it are put into `fresh`. */
  #missing(parts: {
    readonly since: number;
    readonly until: number;
    readonly cellMs: number;
    readonly isWhole: (start: number) => boolean;
    readonly memory: Map<number, Cell>;
    readonly fresh: Map<number, Cell>;
  }): { from: number; to: number }[] {
    const { since, until, cellMs, isWhole, memory, fresh } = parts;
    const stretches: { from: number; to: number }[] = [];
    for (let start = Math.floor(since / cellMs) * cellMs; start < until; start += cellMs) {
      if (isWhole(start)) {
        if (memory.has(start)) continue;
        fresh.set(start, new Map());
      }
      const from = Math.max(start, since);
      const to = Math.min(start + cellMs, until);
      const last = stretches.at(-1);
      if (last?.to === from) last.to = to;
      else stretches.push({ from, to });
    }
    return stretches;
  }

  #memoryOf(owner: Owner | undefined, cellMs: number): Map<number, Cell> {
    const key = JSON.stringify([cellMs, owner ?? null]);
    const memory = this.#memories.get(key) ?? new Map<number, Cell>();
    this.#memories.delete(key);
    this.#memories.set(key, memory);
    for (const oldest of this.#memories.keys()) {
      if (this.#memories.size <= memories) break;
      this.#memories.delete(oldest);
    }
    return memory;
  }
}

function noneLive() {
  return { queued: 0, running: 0, waiting: 0 };
}

function tallyIn(tallies: Map<string, Tally>, tool: string): Tally {
  const tally = tallies.get(tool) ?? new Tally();
  tallies.set(tool, tally);
  return tally;
}

function weightOf({
  queued,
  running,
  waiting,
  completed,
  failed,
  cancelled,
  lost,
}: LiveCounts & EndedCounts) {
  return queued + running + waiting + completed + failed + cancelled + lost;
}
