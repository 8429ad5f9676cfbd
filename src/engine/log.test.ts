import { expect, test } from 'vitest';
import { type Suspicion, unobserved } from '../ports/observer.ts';
import { type LogEntry, logged } from './log.ts';

test('S1686-86, S2025-111: the log gets one entry per minute for each owner and pattern', () => {
  const entries: LogEntry[] = [];
  const { suspicious } = logged(unobserved, (entry) => entries.push(entry));
  const eager: Suspicion = { pattern: 'eagerPolls', owner: 'ada', task: 'one', count: 601, at: 0 };
  suspicious(eager);
  suspicious({ ...eager, task: 'another', at: 59_999 });
  suspicious({ ...eager, owner: 'bob', at: 59_999 });
  suspicious({ pattern: 'failedLooks', owner: 'ada', count: 100, at: 59_999 });
  suspicious({ ...eager, at: 60_000 });
  expect(entries.map(({ owner, at, detail }) => [owner, detail?.pattern, at])).toEqual([
    ['ada', 'eagerPolls', 0],
    ['bob', 'eagerPolls', 59_999],
    ['ada', 'failedLooks', 59_999],
    ['ada', 'eagerPolls', 60_000],
  ]);
});
