/** What the tool `chapters` wrote to its file. */
import { existsSync, readFileSync } from 'node:fs';

export function chaptersIn(file: string): number[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map(Number);
}

/** A chapter may be begun again after a kill, but not once the next one has begun. */
export function repeatedIn(written: readonly number[]): number[] {
  return written.filter(
    (chapter, n) => n > 0 && (chapter < written[n - 1]! || chapter > written[n - 1]! + 1),
  );
}
