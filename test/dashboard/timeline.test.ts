import { expect, test } from 'vitest';
import { folded } from '../../dashboard/src/task/folding.ts';
import { timelineOf } from '../../dashboard/src/task/timeline-layout.ts';
import type { CallSpan, TaskDetails } from '../../src/operator/api.ts';
import { call, pass, story, summary } from '../kit/stories.ts';

test('each process has a lane with its passes in order', () => {
  const passes = [
    pass({ number: 1, worker: 'a', from: 0, to: 10, end: 'parked' }),
    pass({ number: 2, worker: 'b', from: 20, to: 30, end: 'parked' }),
    pass({ number: 3, worker: 'a', from: 40, to: 50, end: 'ended' }),
  ];
  const { rows } = timelineOf(story({ passes, task: summary({ finishedAt: 50 }) }), 50);
  expect(rows.map(({ label, bars }) => [label, bars.length])).toEqual([
    ['a', 2],
    ['b', 1],
  ]);
});

test('open bars end now', () => {
  const given = story({ passes: [pass({})], calls: [call({ to: null, state: 'open' })] });
  const [lane, step] = timelineOf(given, 5_000).rows;
  expect(lane!.bars).toMatchObject([{ from: 0, to: 5_000, isOpen: true }]);
  expect(step!.bars).toMatchObject([{ from: 0, to: 5_000, look: 'work', isOpen: true }]);
});

test('with a slow browser clock nothing is drawn into the future', () => {
  const given = story({ passes: [pass({ from: 9_000 })], calls: [call({ from: 9_500, to: 9_800 })] });
  const { to, rows } = timelineOf(given, 1_000);
  expect(to).toBe(9_800);
  expect(rows[0]!.bars[0]!.to).toBe(9_800);
});

test('a crash tears the pass and the interrupted step, which the next pass runs again', () => {
  const passes = [
    pass({ number: 1, worker: 'a', from: 0, to: 100, end: 'crashed' }),
    pass({ number: 2, worker: 'b', from: 300, to: null, replayed: 7 }),
  ];
  const { rows, crashes } = timelineOf(story({ passes, calls: [call({ from: 50, to: 400 })] }), 500);
  expect(crashes).toEqual([{ at: 100, worker: 'a', pass: 1, resumedAt: 300, resumedBy: 'b', replayed: 7 }]);
  expect(rows.map((row) => row.bars.map(({ from, to, look }) => [look, from, to]))).toEqual([
    [['torn', 0, 100]],
    [['work', 300, 500]],
    [
      ['torn', 50, 100],
      ['work', 300, 400],
    ],
  ]);
});

test('a crash without a take-over has no resume', () => {
  const passes = [pass({ worker: 'worker-1', to: 100, end: 'crashed' })];
  const { crashes, rows } = timelineOf(story({ passes, calls: [call({ to: null, state: 'open' })] }), 500);
  expect(crashes).toEqual([{ at: 100, worker: 'worker-1', pass: 1 }]);
  expect(rows[1]!.bars).toMatchObject([{ from: 0, to: 100, look: 'torn' }]);
});

test('a crash does not interrupt waits for a person, a timer or a subtask', () => {
  const passes = [pass({ number: 1, to: 100, end: 'crashed' }), pass({ number: 2, worker: 'b', from: 300 })];
  const calls = [call({ kind: 'ask', name: 'approval', key: 'approval', from: 50, to: 400 })];
  const { rows } = timelineOf(story({ passes, calls }), 500);
  expect(rows.at(-1)!.bars).toMatchObject([{ from: 50, to: 400, look: 'wait' }]);
});

test('failed attempts and the pauses after them have their own bars', () => {
  const attempts = [
    { at: 100, message: 'no route', retryAt: 300 },
    { at: 400, message: 'no route', retryAt: 800 },
  ];
  const { rows } = timelineOf(story({ calls: [call({ to: 900, attempts })] }), 1_000);
  expect(rows[0]!.bars.map(({ look, from, to }) => [look, from, to])).toEqual([
    ['failed', 0, 100],
    ['pause', 100, 300],
    ['failed', 300, 400],
    ['pause', 400, 800],
    ['work', 800, 900],
  ]);
});

test('a step that waits for its next attempt ends with an open pause', () => {
  const attempts = [{ at: 100, message: 'no route', retryAt: 9_000 }];
  const { rows } = timelineOf(story({ calls: [call({ to: null, state: 'open', attempts })] }), 1_000);
  expect(rows[0]!.bars).toMatchObject([
    { look: 'failed', from: 0, to: 100 },
    { look: 'pause', from: 100, to: 1_000, isOpen: true },
  ]);
});

test('a subtask is one row from start to end, although its parent has several calls for it', () => {
  const children = [
    summary({ id: 'kid', tool: 'summarise', status: 'failed', createdAt: 10, finishedAt: 400 }),
  ];
  const calls = [
    call({ kind: 'start', name: 'summarise', childId: 'kid', from: 10, to: 11 }),
    call({ kind: 'result', name: 'summarise', childId: 'kid', from: 20, to: 410, state: 'failed' }),
  ];
  const { rows } = timelineOf(story({ children, calls }), 500);
  expect(rows).toMatchObject([
    { kind: 'subtask', label: 'summarise', state: 'failed', from: 10, to: 400, childId: 'kid' },
  ]);
});

test('a subtask without a call is shown, too', () => {
  const children = [summary({ id: 'kid', tool: 'summarise', createdAt: 10 })];
  expect(timelineOf(story({ children }), 500).rows).toMatchObject([
    { childId: 'kid', state: 'open', to: null },
  ]);
});

test('rows keep their ids while the history grows', () => {
  const first = story({ calls: [call({ name: 'one' })] });
  const then = story({ calls: [call({ name: 'one' }), call({ name: 'two', from: 200 })] });
  const ids = (given: TaskDetails) => timelineOf(given, 500).rows.map(({ id }) => id);
  expect(ids(then).slice(0, 1)).toEqual(ids(first));
});

// --- Hundreds of rows -------------------------------------------------------------------------------------

function manySteps(length: number, odd: Readonly<Record<number, Partial<CallSpan>>> = {}) {
  const calls = Array.from({ length }, (_, i) => call({ name: `page ${i}`, from: i, to: i + 1, ...odd[i] }));
  return timelineOf(story({ calls }), length).rows;
}

test('a few dozen rows are all shown', () => {
  expect(folded(manySteps(60), new Set()).every((item) => 'row' in item)).toBe(true);
});

test('a thousand steps are folded into a few lines, but failures stay visible', () => {
  const rows = manySteps(1_000, { 333: { state: 'failed', error: 'broken' } });
  const items = folded(rows, new Set());
  expect(items.length).toBeLessThan(40);
  expect(items.some((item) => 'row' in item && item.row.label === 'page 333')).toBe(true);
  const count = items.reduce((total, item) => total + ('fold' in item ? item.fold.rows.length : 1), 0);
  expect(count).toBe(1_000);
});

test('a fold opens into its rows, and stays open while more come', () => {
  const [first] = folded(manySteps(200), new Set());
  const { id } = (first as { fold: { id: string } }).fold;
  const items = folded(manySteps(300), new Set([id]));
  expect(items.slice(1, 101).every((item) => 'row' in item)).toBe(true);
});
