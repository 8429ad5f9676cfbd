/** Hundreds of rows that went well say less than one line about them: long runs are folded until a reader opens them. */
import type { Row } from './timeline-layout.ts';

export type Item = { readonly row: Row } | { readonly fold: Fold };

export interface Fold {
  /** Named after its first row, so that it stays open while the story grows. */
  readonly id: string;
  readonly rows: readonly Row[];
  readonly isOpen: boolean;
}

/** Up to so many rows nothing is folded. */
const fewRows = 60;
/** The length of runs that are folded, and of what one press opens. */
const shortestFold = 8;
const longestFold = 100;
/** What happened last is what a reader looks for first. */
const keptAtTheEnd = 10;

export function folded(rows: readonly Row[], opened: ReadonlySet<string>): Item[] {
  if (rows.length <= fewRows) return rows.map((row) => ({ row }));
  const items: Item[] = [];
  let run: Row[] = [];
  const close = () => {
    if (run.length < shortestFold) items.push(...run.map((row) => ({ row })));
    else {
      const fold = { id: `fold ${run[0]!.id}`, rows: run, isOpen: opened.has(`fold ${run[0]!.id}`) };
      items.push({ fold });
      if (fold.isOpen) items.push(...run.map((row) => ({ row })));
    }
    run = [];
  };
  for (const [i, row] of rows.entries()) {
    const isDull = row.kind !== 'process' && row.state === 'ok' && !isRemarkable(row);
    if (isDull && i < rows.length - keptAtTheEnd) {
      run.push(row);
      if (run.length === longestFold) close();
    } else {
      close();
      items.push({ row });
    }
  }
  close();
  return items;
}

function isRemarkable({ bars, call, kind }: Row): boolean {
  return kind === 'question' || bars.some(({ look }) => look === 'torn') || (call?.attempts.length ?? 0) > 0;
}
