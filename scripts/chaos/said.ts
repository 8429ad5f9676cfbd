/** What the child processes say on their standard output, one line each. */
import { writeSync } from 'node:fs';
import type { TaskId } from '../../src/index.ts';

export type Said =
  | { readonly kind: 'ready'; readonly pid: number }
  | { readonly kind: 'created'; readonly n: number; readonly id: TaskId }
  | { readonly kind: 'failed'; readonly error: string };

export function say(line: Said): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
