/**
 * What an overview tells, summed up of live tasks by their index and of ended ones by the moment of their end. Of
 * stretches that are over for good the sums are remembered in small cells, so that the next look reads only what is
 * new; a cell across a border of its buckets is remembered row by row, until the next look.
 */
import type { EndedCounts, LiveCounts, Overview, OverviewQuery } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import type { Owner } from '../../model/task.ts';
import { classOf } from './histogram.ts';
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
const mostSplitRows = 200_000;
const cellsPerTurn = 64;

/** What is remembered for one owner and one length of cells. */
interface Memory {
  readonly cells: Map<number, Cell>;
  /** Cells that lay across a border of the last look, row by row: the next one's borders are likely to be in them. */
  split: ReadonlyMap<number, readonly EndedRow[]>;
}

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
    const place = classOf(row.durationMs);
    for (const tally of this.#of(bucket, row.tool)) tally.add(row, place);
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
  readonly #memories = new Map<string, Memory>();

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
    const isSettled = (start: number) => start + cellMs <= now - settledAfterMs;
    const isWhole = (start: number) =>
      start >= since && start + cellMs <= until && bucketOf(start) === bucketOf(start + cellMs - 1);
    const fresh = new Map<number, FreshCell>();
    const split = new Map<number, EndedRow[]>();
    const stretches: Stretch[] = [];
    for (let start = Math.floor(since / cellMs) * cellMs; start < until; start += cellMs) {
      const end = start + cellMs;
      if (!isSettled(start)) add(stretches, Math.max(start, since), Math.min(end, until));
      else if (isWhole(start)) {
        if (memory.cells.has(start)) continue;
        fresh.set(start, new Map());
        add(stretches, start, end);
      } else {
        const known = memory.split.get(start);
        split.set(start, [...(known ?? [])]);
        if (!known) add(stretches, start, end);
      }
    }
    const sum = (row: EndedRow) => {
      if (row.endedAt >= since && row.endedAt < until) sums.add(bucketOf(row.endedAt), row);
    };
    const take = (row: EndedRow) => {
      const start = Math.floor(row.endedAt / cellMs) * cellMs;
      const cell = fresh.get(start);
      if (cell) tallyIn(cell, row.tool).add(row);
      else if (split.has(start)) split.get(start)!.push(row);
      else sum(row);
    };
    await this.#source.ended({ owner, stretches, take });
    await this.#inTurns(fresh, (start, cell) =>
      memory.cells.set(
        start,
        [...cell].map(([tool, tally]) => [tool, tally.packed]),
      ),
    );
    const kept = [...split.values()].reduce((sum, rows) => sum + rows.length, 0) <= mostSplitRows;
    memory.split = kept ? split : new Map();
    for (const rows of split.values()) {
      for (const row of rows) sum(row);
      await this.#source.turn();
    }
    await this.#inTurns(memory.cells, (start, cell) => {
      if (isSettled(start) && isWhole(start)) sums.merge(bucketOf(start), cell);
    });
    for (const start of memory.cells.keys()) {
      if (memory.cells.size <= mostCells) break;
      memory.cells.delete(start);
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

  #memoryOf(owner: Owner | undefined, cellMs: number): Memory {
    const key = JSON.stringify([cellMs, owner ?? null]);
    const memory = this.#memories.get(key) ?? { cells: new Map(), split: new Map() };
    this.#memories.delete(key);
    this.#memories.set(key, memory);
    for (const oldest of this.#memories.keys()) {
      if (this.#memories.size <= memories) break;
      this.#memories.delete(oldest);
    }
    return memory;
  }
}

/** Adds to what must be read, in as few stretches as possible. */
function add(stretches: Stretch[], from: number, until: number): void {
  const last = stretches.at(-1);
  if (last?.until === from) stretches[stretches.length - 1] = { from: last.from, until };
  else stretches.push({ from, until });
}

function tallyIn(cell: FreshCell, tool: string): CellTally {
  const tally = cell.get(tool) ?? new CellTally();
  cell.set(tool, tally);
  return tally;
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
