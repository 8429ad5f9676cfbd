/** Folds long runs of successful rows into one line each until a reader opens them. */
import type { Row } from './timeline-layout.ts';

export type Item = { readonly row: Row } | { readonly fold: Fold };

export interface Fold {
  /** Named after its first row, so that it stays open while the history grows. */
  readonly id: string;
  readonly rows: readonly Row[];
  readonly isOpen: boolean;
}

/** Up to this many rows, nothing is folded. */
const fewRows = 60;
/** The number of rows in one fold. */
const minFold = 8;
const maxFold = 100;
/** The last rows are never folded, because readers look at them first. */
const unfoldedAtEnd = 10;

export function folded(rows: readonly Row[], opened: ReadonlySet<string>): Item[] {
  if (rows.length <= fewRows) return rows.map((row) => ({ row }));
  const items: Item[] = [];
  let run: Row[] = [];
  const close = () => {
    if (run.length < minFold) items.push(...run.map((row) => ({ row })));
    else {
      const fold = { id: `fold ${run[0]!.id}`, rows: run, isOpen: opened.has(`fold ${run[0]!.id}`) };
      items.push({ fold });
      if (fold.isOpen) items.push(...run.map((row) => ({ row })));
    }
    run = [];
  };
  for (const [i, row] of rows.entries()) {
    const isDull = row.kind !== 'process' && row.state === 'ok' && !isRemarkable(row);
    if (isDull && i < rows.length - unfoldedAtEnd) {
      run.push(row);
      if (run.length === maxFold) close();
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
