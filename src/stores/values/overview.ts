/**
 * What an overview tells, summed up of live tasks by their index and of ended ones, bucket by bucket, by the moment of
 * their end. A bucket that is over for good is remembered: whoever asks for the same ones again, as those do whose
 * buckets lie on a grid, reads only what is new.
 */
import type { EndedCounts, LiveCounts, Overview, OverviewQuery } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import type { Owner } from '../../model/task.ts';
import { standingAt } from './standing-codes.ts';
import type { EndedSums, Stretch, SurveySource } from './survey-source.ts';
import { Tally } from './tally.ts';

/** A commit may be that late, and clocks that different: younger buckets are read anew. */
const settledAfterMs = 60_000;
/** For how many owners, and lengths of buckets, sums are remembered, and how many buckets of each. */
const memories = 8;
const mostCells = 512;
const cellsPerTurn = 8;

/** What ended in one bucket. */
type Cell = readonly EndedSums[];

export class Overviews {
  readonly #source: SurveySource;
  readonly #clock: Clock;
  /** Cells by the moment at which they begin, for each owner and length; the least recently used first. */
  readonly #memories = new Map<string, Map<number, Cell>>();

  constructor(source: SurveySource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  async look(query: OverviewQuery): Promise<Overview> {
    const { owner } = query;
    const now = this.#clock.now();
    const [ended, live, readySince] = await Promise.all([
      this.#ended(query, now),
      this.#live(owner),
      this.#source.readySince(owner, now),
    ]);
    const tools = [...new Set([...ended.tools.keys(), ...live.tools.keys()])].map((tool) => ({
      tool,
      ...(live.tools.get(tool) ?? noneLive()),
      ...(ended.tools.get(tool) ?? new Tally()).told,
    }));
    tools.sort((a, b) => weightOf(b) - weightOf(a) || (a.tool < b.tool ? -1 : 1));
    return {
      live: live.whole,
      readySince,
      ended: ended.whole.told,
      buckets: ended.buckets.map((tally) => tally.told),
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

  async #ended(query: OverviewQuery, now: number) {
    const whole = new Tally();
    const tools = new Map<string, Tally>();
    const buckets: Tally[] = [];
    for (const cell of await this.#cells(query, now)) {
      const bucket = new Tally();
      for (const sums of cell) {
        const ofTool = tools.get(sums.tool) ?? new Tally();
        tools.set(sums.tool, ofTool);
        for (const tally of [whole, bucket, ofTool]) tally.add(sums);
      }
      if (buckets.push(bucket) % cellsPerTurn === 0) await this.#source.turn();
    }
    return { whole, buckets, tools };
  }

  /** One of each bucket. */
  async #cells({ owner, since, until, buckets }: OverviewQuery, now: number): Promise<readonly Cell[]> {
    const length = (until - since) / buckets;
    const stretches = Array.from({ length: buckets }, (_, n): Stretch => {
      return { from: since + n * length, until: n === buckets - 1 ? until : since + (n + 1) * length };
    });
    const memory = this.#memoryOf(owner, length);
    const found = new Map(memory);
    const missing = stretches.filter(({ from }) => !found.has(from));
    const fresh = missing.map((): EndedSums[] => []);
    await this.#source.ended({ owner, stretches: missing, take: (place, sums) => fresh[place]!.push(sums) });
    for (const [place, stretch] of missing.entries()) {
      found.set(stretch.from, fresh[place]!);
      if (stretch.until <= now - settledAfterMs) memory.set(stretch.from, fresh[place]!);
    }
    for (const from of memory.keys()) {
      if (memory.size <= mostCells) break;
      memory.delete(from);
    }
    return stretches.map(({ from }) => found.get(from)!);
  }

  #memoryOf(owner: Owner | undefined, length: number): Map<number, Cell> {
    const key = JSON.stringify([length, owner ?? null]);
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
