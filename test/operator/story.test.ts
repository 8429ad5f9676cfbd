/** The history of a task from hand-written commits. */
import { aTask } from 'holdfast/store/testing';
import { expect, test } from 'vitest';
import { toRecord } from '../../src/engine/replay/journal.ts';
import { create } from '../../src/engine/rules/transitions.ts';
import type { TaskEvent } from '../../src/model/event.ts';
import type { Json } from '../../src/model/json.ts';
import type { SecretFields } from '../../src/model/redaction.ts';
import { HistoryReader } from '../../src/operator/history.ts';
import type { Change } from '../../src/ports/change.ts';
import type { HistoryCommit } from '../../src/ports/query.ts';

function told(commits: readonly [number, readonly TaskEvent[], ...Json[]][], own: SecretFields = []) {
  const reader = new HistoryReader({ own, of: () => [] });
  for (const [n, [at, events, ...journal]] of commits.entries())
    reader.read({ version: n + 1, at, events, journal } satisfies HistoryCommit);
  return reader.history((create(undefined, aTask(), 100) as Change).task);
}

const claimed = (epoch: number, takenFrom?: string): TaskEvent => ({
  type: 'claimed',
  epoch,
  worker: `worker ${epoch}`,
  ...(takenFrom !== undefined && { takenFrom }),
});
const recorded: TaskEvent = { type: 'recorded', entries: 1 };
const opening = { arguments: { topic: 'tides' } };
const batch = (moment: number, settled: number, rest: object): Json =>
  toRecord({ moment, settled, calls: [], entries: [], attempts: [], ...rest });

test('a pass whose claim was taken over has crashed, and ends when it was last known to be alive', () => {
  const { passes } = told([
    [100, [{ type: 'created' }], opening],
    [110, [claimed(1)]],
    [
      150,
      [recorded],
      batch(150, 0, {
        calls: [{ kind: 'step', name: 'one', at: 0 }],
        entries: [{ call: 0, ok: true, value: 1 }],
      }),
    ],
    // A caller cancelled nothing and only answered: that says nothing about the worker.
    [180, [{ type: 'completed', name: 'webhook' }]],
    [400, [claimed(2, 'worker 1')]],
    [450, [{ type: 'finished', outcome: 'result' }]],
  ]);
  expect(passes).toEqual([
    { number: 1, worker: 'worker 1', from: 110, to: 150, end: 'crashed', replayed: 0 },
    { number: 2, worker: 'worker 2', from: 400, to: 450, end: 'ended', replayed: 1 },
  ]);
});

test('a pass is parked, released, or running', () => {
  const { passes } = told([
    [100, [{ type: 'created' }, claimed(1)], opening],
    [120, [{ type: 'parked', until: null }]],
    [200, [claimed(2)]],
    [210, [{ type: 'released' }]],
    [220, [claimed(3)]],
  ]);
  expect(passes.map(({ end, from, to }) => [end, from, to])).toEqual([
    ['parked', 100, 120],
    ['released', 200, 210],
    ['running', 220, null],
  ]);
});

test('a call starts when the previous one settled, and keeps its failed attempts', () => {
  const { calls, arguments: given } = told([
    [100, [{ type: 'created' }, claimed(1)], opening],
    [
      130,
      [recorded],
      batch(130, 0, {
        calls: [{ kind: 'step', name: 'one', at: 0 }],
        entries: [{ call: 0, ok: true, value: 'first' }],
      }),
    ],
    [
      150,
      [recorded],
      batch(150, 1, {
        calls: [{ kind: 'step', name: 'two', at: 1 }],
        attempts: [{ call: 1, message: 'Busy.', retryAt: 170 }],
      }),
    ],
    [
      190,
      [recorded],
      batch(190, 1, { entries: [{ call: 1, ok: false, value: { name: 'Error', message: 'Still busy.' } }] }),
    ],
    [200, [recorded], batch(200, 2, { calls: [{ kind: 'sleep', name: '', at: 2, due: 900 }] })],
  ]);
  expect(given).toEqual({ topic: 'tides' });
  expect(calls).toEqual([
    { kind: 'step', name: 'one', pass: 1, from: 100, to: 130, state: 'ok', attempts: [], value: 'first' },
    {
      kind: 'step',
      name: 'two',
      pass: 1,
      from: 130,
      to: 190,
      state: 'failed',
      attempts: [{ at: 150, message: 'Busy.', retryAt: 170 }],
      error: 'Still busy.',
    },
    { kind: 'sleep', name: '', pass: 1, from: 190, to: null, state: 'open', attempts: [], due: 900 },
  ]);
});

test('a call that was not recorded before a crash starts with the pass that repeated it', () => {
  const { calls } = told([
    [100, [{ type: 'created' }, claimed(1)], opening],
    [500, [claimed(2, 'worker 1')]],
    [
      530,
      [recorded],
      batch(530, 0, { calls: [{ kind: 'step', name: 'one', at: 0 }], entries: [{ call: 0, ok: true }] }),
    ],
  ]);
  expect(calls).toMatchObject([{ pass: 2, from: 500, to: 530 }]);
});

test('a subtask is found from its start and from its result', () => {
  const { calls } = told([
    [100, [{ type: 'created' }, claimed(1)], opening],
    [
      120,
      [recorded],
      batch(120, 0, {
        calls: [
          { kind: 'start', name: 'count_words', at: 0 },
          { kind: 'result', name: 'child-1', at: 1 },
        ],
        entries: [{ call: 0, ok: true, value: 'child-1' }],
      }),
    ],
  ]);
  expect(calls).toMatchObject([
    { kind: 'start', childId: 'child-1', state: 'ok' },
    { kind: 'result', childId: 'child-1', state: 'open' },
  ]);
});

test('large values are shortened, and values of an unknown tool are redacted', () => {
  const large = Array.from({ length: 100_000 }, (_, n) => ({ n, text: 'x'.repeat(100) }));
  const commits: [number, TaskEvent[], ...Json[]][] = [
    [100, [{ type: 'created' }, claimed(1)], { arguments: { large } }],
    [
      120,
      [recorded],
      batch(120, 0, {
        calls: [{ kind: 'step', name: 'one', at: 0 }],
        entries: [{ call: 0, ok: true, value: large }],
      }),
    ],
  ];
  const shown = told(commits);
  expect(JSON.stringify(shown).length).toBeLessThan(100_000);
  expect(shown.calls[0]!.value).toEqual(
    expect.arrayContaining([large[0], expect.stringMatching(/^… 999\d\d more$/)]),
  );
  const hidden = told(commits, 'all');
  expect(hidden.arguments).toBe('[redacted]');
  expect(hidden.calls[0]!.value).toBe('[redacted]');
});

test('of very many events and calls the middle is omitted, except open calls', () => {
  const steps = Array.from({ length: 5_000 }, (_, n): [number, TaskEvent[], Json] => [
    200 + n,
    [recorded],
    batch(200 + n, n, {
      calls: [{ kind: 'step', name: `${n}`, at: n }],
      entries: n === 2_500 ? [] : [{ call: n, ok: true }],
    }),
  ]);
  const { events, omittedEvents, calls, omittedCalls } = told([
    [100, [{ type: 'created' }, claimed(1)], opening],
    ...steps,
  ]);
  expect([events.length, omittedEvents]).toEqual([2_000, 3_002]);
  expect(events.at(-1)!.version).toBe(5_001);
  expect([calls.length, omittedCalls]).toEqual([2_001, 2_999]);
  expect(calls.filter(({ state }) => state === 'open').map(({ name }) => name)).toEqual(['2500']);
});
