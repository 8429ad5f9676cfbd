/** What SQLite tells of ended tasks in two long lists is summed up as if each had come as a row. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/stores/sqlite/driver.ts';
import { type EndedLists, endedLists, sumsOf } from '../../src/stores/sqlite/ended-lists.ts';
import { codeOf } from '../../src/stores/values/standing-codes.ts';
import { classOf, kindOf } from '../../src/stores/values/tally.ts';

interface Ended {
  readonly tool: string;
  readonly standing: number;
  readonly created_at: number | null;
  readonly ended_at: number;
}

const completed = codeOf('completed');

function listsOf(rows: readonly Ended[]): EndedLists {
  const db = connect(':memory:');
  db.exec('create table tasks (tool text, standing integer, created_at integer, ended_at integer)');
  const insert = db.prepare('insert into tasks values (?, ?, ?, ?)');
  for (const row of rows) insert.run(row.tool, row.standing, row.created_at, row.ended_at);
  const select = db.prepare(`select ${endedLists} from tasks`);
  select.setReturnArrays(true);
  const lists = select.get() as unknown as EndedLists;
  db.close();
  return lists;
}

/** By tool and kind. */
function countsOf(rows: readonly Ended[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { tool, standing, created_at, ended_at } of rows) {
    const key = `${tool} ${kindOf(standing, classOf(ended_at - created_at!))}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** As names are told apart at first. */
function numberOf(name: string): number {
  return new TextEncoder().encode(name).reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, 0);
}

const told = fc.record({
  tool: fc.oneof(
    fc.constantFrom('scan', 'print', 'Aa', 'BB', '印刷'),
    fc.stringMatching(/^[^,\0\ud800-\udfff]{1,20}$/),
  ),
  standing: fc.constantFrom(completed, completed + 1, completed + 2, completed + 3),
  created_at: fc.nat(1_000),
  ended_at: fc.oneof(
    fc.integer({ min: 1_000, max: 90_000 }),
    fc.maxSafeNat().map((n) => 1_000 + (n % 4e12)),
  ),
});

describe('ended tasks in two lists', () => {
  test('are the same as row by row', () => {
    fc.assert(
      fc.property(fc.array(told, { maxLength: 60 }), (rows) => {
        const sums = sumsOf(listsOf(rows));
        const names = new Set(rows.map(({ tool }) => tool));
        if (sums === undefined) {
          expect(new Set([...names].map(numberOf)).size).toBeLessThan(names.size);
          return;
        }
        const counts = sums.flatMap(({ tool, kinds, counts }) =>
          Array.from(kinds, (kind, n) => [`${tool} ${kind}`, counts[n]]),
        );
        expect(Object.fromEntries(counts)).toEqual(countsOf(rows));
      }),
    );
  });

  const known: Ended = { tool: 'scan', standing: completed, created_at: 0, ended_at: 10 };

  test.each<[string, readonly Ended[]]>([
    ['a tool has a comma in its name', [known, { ...known, tool: 'scan,print' }, known]],
    ['a tool has no name', [known, { ...known, tool: '' }]],
    ['columns do not tell when one was made', [known, { ...known, created_at: null }]],
    ['columns do not tell how one ended', [{ ...known, standing: 0 }, known]],
    ['one ended before it was made', [{ ...known, created_at: 11 }, known]],
    [
      'two names have the same number',
      [
        { ...known, tool: 'Aa' },
        { ...known, tool: 'BB' },
      ],
    ],
  ])('are given up if %s', (_, rows) => {
    expect(sumsOf(listsOf(rows))).toBeUndefined();
  });

  test('are none if nothing ended', () => {
    expect(sumsOf(listsOf([]))).toEqual([]);
  });
});
