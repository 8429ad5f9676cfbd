import { existsSync, readFileSync } from 'node:fs';

/** The complete lines of a file that a tool writes; none as long as it does not exist. */
export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}
