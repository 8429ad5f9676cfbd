/** What is wrong with the store, for whoever looks at the terminal of a process that serves or works. */
import type { LogEntry } from '../engine/log.ts';
import { say } from './usage.ts';

const told: Readonly<Record<string, (entry: LogEntry) => string>> = {
  storeFailed: ({ detail }) => `The task store fails${repeated(detail?.times)}. ${detail?.message}`,
  storeRecovered: ({ detail }) =>
    `The task store works again, after ${Math.ceil(Number(detail?.failedMs) / 1_000)} s.`,
  damaged: ({ task, detail }) => `Task ${task} is damaged. ${detail?.message}`,
  overfull: ({ detail }) =>
    `The task store holds ${detail?.size} bytes, more than its largestStore of ${detail?.largest}: nothing more may be removed.`,
};

export function sayStoreTrouble(entry: LogEntry): void {
  const message = told[entry.event]?.(entry);
  if (message !== undefined) say({ message });
}

function repeated(times: unknown): string {
  return typeof times === 'number' && times > 1 ? ` (${times} times since it was last said)` : '';
}
