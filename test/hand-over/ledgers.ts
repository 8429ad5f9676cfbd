/** What the tool `chapters` wrote to its file. */
import { linesOf } from '../kit/text.ts';

export function chaptersIn(file: string): number[] {
  return linesOf(file).map(Number);
}

/** A chapter may be begun again after a kill, but not once the next one has begun. */
export function repeatedIn(written: readonly number[]): number[] {
  return written.filter(
    (chapter, n) => n > 0 && (chapter < written[n - 1]! || chapter > written[n - 1]! + 1),
  );
}
