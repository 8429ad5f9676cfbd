/** What a host writes down as it goes, in a file that survives it. */
import { appendFileSync } from 'node:fs';
import { whole } from '../../kit/child.ts';
import { linesOf } from '../../kit/text.ts';

export type Line =
  | { readonly type: 'called'; readonly handle: string }
  | { readonly type: 'asked'; readonly question: string }
  /** Its answer goes into the registry, … */
  | { readonly type: 'recording'; readonly question: string }
  /** … and is there. */
  | { readonly type: 'recorded'; readonly question: string }
  /** The host has the outcome. */
  | { readonly type: 'delivered'; readonly handle: string; readonly text: string }
  | { readonly type: 'failed'; readonly handle: string; readonly why: string };

export type Written = Line & { readonly life: number };

export function write(file: string, line: Written): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** A host that is killed while it writes leaves half a line, which says nothing. */
export function readLines(file: string): Written[] {
  return linesOf(file).flatMap((text) => whole<Written>(text) ?? []);
}
