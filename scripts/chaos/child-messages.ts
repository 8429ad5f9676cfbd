/** Messages of the child processes on standard output, one per line. */
import { writeSync } from 'node:fs';
import type { TaskId } from '../../src/index.ts';

export type ChildMessage =
  | { readonly kind: 'ready'; readonly pid: number }
  | { readonly kind: 'created'; readonly n: number; readonly id: TaskId }
  | { readonly kind: 'failed'; readonly error: string };

export function send(line: ChildMessage): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
