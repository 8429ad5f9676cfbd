/**
 * What an overview tells, summed up of live tasks by their index and of ended ones by the moment of their end. Of
 * stretches that are over for good the sums are remembered in small cells, so that the next look reads only what is
 * new, and what lies across a border of its buckets.
 */
import type { EndedCounts, LiveCounts, Overview, OverviewQuery } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import type { Owner } from '../../model/task.ts';
import { standingAt } from './standing-codes.ts';
import type { EndedRow, Stretch, SurveySource } from './survey-source.ts';
import { CellTally, type PackedTally, Tally } from './tally.ts';

/** A commit may be that late, and clocks that different: younger cells are read anew. */
const settledAfterMs = 60_000;
/** A bucket has at least so many cells, so that only few of them lie across its borders. */
const cellsPerBucket = 20;
const cellLengths = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 86_400_000];
/** For how many owners, and lengths of cells, sums are remembered, and how many cells of each. */
const memories = 8;
const mostCells = 4_096;
const cellsPerTurn = 64;

/** What ended in one cell, by tool. */
type Cell = readonly (readonly [tool: string, tally: PackedTally])[];
type FreshCell = Map<string, CellTally>;

/** What is being summed up: the whole, its buckets, and each tool. */
class Sums {
  readonly whole = new Tally();
  readonly buckets: readonly Tally[];
  readonly tools = new Map<string, Tally>();

  constructor(buckets: number) {
    this.buckets = Array.from({ length: buckets }, () => new Tally());
  }

  add(bucket: number, row: EndedRow): void {
    for (const tally of this.#of(bucket, row.tool)) tally.add(row);
  }

  merge(bucket: number, cell: Cell): void {
    for (const [tool, packed] of cell) for (const tally of this.#of(bucket, tool)) tally.merge(packed);
  }

  #of(bucket: number, tool: string): readonly Tally[] {
    const ofTool = this.tools.get(tool) ?? new Tally();
    this.tools.set(tool, ofTool);
    return [this.whole, this.buckets[bucket]!, ofTool];
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
    const groups = [...(await this.#source.liveGroups(owner)), ...(await this.#source.askingGroups(owner))];
    for (const { tool, standing: code, count } of groups) {
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
    const fresh = new Map<number, FreshCell>();
    const take = (row: EndedRow) => {
      const cell = fresh.get(Math.floor(row.endedAt / cellMs) * cellMs);
      if (!cell) return sums.add(bucketOf(row.endedAt), row);
      const tally = cell.get(row.tool) ?? new CellTally();
      cell.set(row.tool, tally);
      tally.add(row);
    };
    const stretches = missing({ since, until, cellMs, isWhole, memory, fresh });
    await this.#source.ended({ owner, stretches, take });
    await this.#inTurns(fresh, (start, cell) =>
      memory.set(
        start,
        [...cell].map(([tool, tally]) => [tool, tally.packed]),
      ),
    );
    await this.#inTurns(memory, (start, cell) => {
      if (isWhole(start)) sums.merge(bucketOf(start), cell);
    });
    for (const start of memory.keys()) {
      if (memory.size <= mostCells) break;
      memory.delete(start);
    }
    return sums;
  }

  async #inTurns<C>(cells: ReadonlyMap<number, C>, act: (start: number, cell: C) => void): Promise<void> {
    let turn = 0;
    for (const [start, cell] of [...cells]) {
      act(start, cell);
      if (++turn % cellsPerTurn === 0) await this.#source.turn();
    }
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

/** What must be read, in as few stretches as possible; whole cells among it are put into `fresh`. */
function missing(parts: {
  readonly since: number;
  readonly until: number;
  readonly cellMs: number;
  readonly isWhole: (start: number) => boolean;
  readonly memory: ReadonlyMap<number, Cell>;
  readonly fresh: Map<number, FreshCell>;
}): Stretch[] {
  const { since, until, cellMs, isWhole, memory, fresh } = parts;
  const stretches: { from: number; until: number }[] = [];
  for (let start = Math.floor(since / cellMs) * cellMs; start < until; start += cellMs) {
    if (isWhole(start)) {
      if (memory.has(start)) continue;
      fresh.set(start, new Map());
    }
    const from = Math.max(start, since);
    const to = Math.min(start + cellMs, until);
    const last = stretches.at(-1);
    if (last?.until === from) last.until = to;
    else stretches.push({ from, until: to });
  }
  return stretches;
}

function noneLive() {
  return { queued: 0, running: 0, waiting: 0 };
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
