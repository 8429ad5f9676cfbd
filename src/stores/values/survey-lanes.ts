/** Several lanes as one, the newest first. */
import type { PassedRow, Portion, SurveySource, Wanted } from './survey-source.ts';

/** Reads on in one lane. */
export type Reader = (before: number, limit: number) => Promise<Portion>;

export interface MergedPortion {
  readonly rows: readonly PassedRow[];
  /** Everything from this number on has been given. */
  readonly passedTo: number;
  readonly isLast: boolean;
}

/** The first portion is small, because a page often needs no more. */
const firstPortion = 64;
const largestPortion = 1_024;

interface Buffered {
  readonly read: Reader;
  rows: PassedRow[];
  isEnd: boolean;
}

export async function* merged(readers: readonly Reader[], before: number): AsyncGenerator<MergedPortion> {
  const lanes: Buffered[] = readers.map((read) => ({ read, rows: [], isEnd: false }));
  let limit = firstPortion;
  for (let passedTo = before; ; limit = Math.min(limit * 2, largestPortion)) {
    for (const lane of lanes) {
      if (lane.rows.length > 0 || lane.isEnd) continue;
      const { rows, isEnd } = await lane.read(passedTo, limit);
      lane.rows = [...rows];
      lane.isEnd = isEnd;
    }
    // Below the last row of a lane that goes on, something of it may be missing yet.
    const floor = Math.max(0, ...lanes.map((lane) => (lane.isEnd ? 0 : (lane.rows.at(-1)?.seq ?? 0))));
    const rows = lanes.flatMap((lane) => {
      const kept = lane.rows.findIndex(({ seq }) => seq < floor);
      return lane.rows.splice(0, kept === -1 ? lane.rows.length : kept);
    });
    // What is seen in one lane may be passed unseen in another.
    if (lanes.length > 1) rows.sort((a, b) => b.seq - a.seq || Number(b.isSeen) - Number(a.isSeen));
    const isLast = lanes.every((lane) => lane.isEnd && lane.rows.length === 0);
    passedTo = isLast ? 0 : floor;
    yield { rows: rows.filter((row, i) => row.seq !== rows[i - 1]?.seq), passedTo, isLast };
    if (isLast) return;
  }
}

/** A lane of rows that are known by their numbers, the newest first. */
export function gathered(source: SurveySource, seqs: readonly number[], wanted: Wanted): Reader {
  return async (before, limit) => {
    for (
      let first = seqs.findIndex((seq) => seq < before);
      first !== -1 && first < seqs.length;
      first += limit
    ) {
      const rows = await source.rowsAt(seqs.slice(first, first + limit), wanted);
      // Some may have gone meanwhile, or all.
      if (rows.length > 0) return { rows, isEnd: first + limit >= seqs.length };
    }
    return { rows: [], isEnd: true };
  };
}
