/** Whatever a handler throws, returns or passes on, only its own task fails. */
import { beforeAll, describe, expect, test } from 'vitest';
import { complaintOf, type Ending, runCases } from './in-process.ts';
import { passingWays, returningWays, throwingWays } from './tools.ts';
import { oddValues } from './values.ts';

/** A message never grows beyond this, whatever was thrown. */
const longestMessage = 66_000;

const names = [...oddValues.keys()];
/** A handler that waits for a promise that never settles waits: that is its own affair, until its deadline. */
const returnable = names.filter((name) => name !== 'a promise');

/** Every value in every way; in the quick lane in every fourth. */
const casesOf = (ways: object, values: readonly string[] = names) => {
  const step = process.env.HOLDFAST_LANE === 'quick' ? 4 : 1;
  return values.flatMap((value, n) =>
    Object.keys(ways)
      .filter((_, m) => (n + m) % step === 0)
      .map((way) => ({ value, way })),
  );
};

describe.each([
  { title: 'thrown', cases: casesOf(throwingWays), values: names },
  { title: 'returned', cases: casesOf(returningWays, returnable), values: returnable },
  { title: 'passed to a method of task', cases: casesOf(passingWays), values: names },
])('odd values that are $title', ({ title, cases, values }) => {
  let ending: Ending;
  beforeAll(async () => {
    ending = await runCases(cases);
  }, 600_000);

  test('the process survives all of them, and every task ends', () => {
    expect(ending.complaints).toBe('');
    expect(ending.survived).toBe(true);
    expect(ending.ended).toHaveLength(cases.length);
  });

  test('no neighbour is troubled', () => {
    expect(ending.ended.filter(({ neighbour }) => neighbour !== 'result')).toEqual([]);
  });

  test.each(values)('%s: the task that has it says so, in bounds', (name) => {
    const ended = ending.ended.filter(({ value }) => value === name);
    expect(ended.length).toBe(cases.filter(({ value }) => value === name).length);
    for (const { way, outcome } of ended) {
      const complaint = complaintOf(outcome);
      if (title === 'thrown') expect(complaint, way).toMatch(oddValues.get(name)![1]);
      expect(complaint ?? 'fine', way).not.toMatch(unclear);
      expect(complaint ?? 'fine', way).not.toBe('');
      expect((complaint ?? '').length, way).toBeLessThan(longestMessage);
      if (title === 'passed to a method of task' && complaint !== undefined)
        expect(complaint, way).toMatch(namesTheCall);
    }
  });
});

/** What JavaScript says when nobody looked before. */
const unclear =
  /^(undefined|null|\[object)|Cannot (read|convert|destructure|use)|is not (a function|iterable)|serialize a BigInt|call stack|circular structure|string length|Invalid array length/;
/** A refused argument is refused by the method that got it. */
const namesTheCall =
  /task\.\w+\(\)|The call of leaf|The input of leaf|The question "|The event "|The condition "|Nobody answered|Class constructor/;
