/** `kill -9` of the host between a call and its result. */
import { describe, expect, test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import { problemsOf } from './judge.ts';
import { killHosts, ways } from './kills.ts';
import type { Written } from './lines.ts';

test('twenty kills: every result is delivered once, and no answered question is asked again', {
  timeout: 600_000,
}, async () => {
  const seed = seedOfThisRun();
  const { reports, problems } = await killHosts(ways.slice(0, 2), { kills: 20, seed });
  console.table(reports);
  expect(problems).toEqual([]);
  expect(reports.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(20);
  for (const { calls, delivered, questions } of reports) {
    expect(delivered).toBe(calls);
    expect(questions).toBeGreaterThan(0);
  }
});

describe('the judge complains of', () => {
  const record = {
    id: 'h',
    server: 's',
    method: 'tools/call',
    params: { name: 'nap' },
    argumentsDigest: '',
    idempotencyKey: '',
    createdAt: 0,
    answers: {},
    isDelivered: true,
  };
  const delivered: Written = { type: 'delivered', handle: 'h', text: 'woke', life: 1 };
  const asked: Written = { type: 'asked', question: 'q', life: 1 };
  const recording: Written = { type: 'recording', question: 'q', life: 1 };
  const recorded: Written = { type: 'recorded', question: 'q', life: 1 };
  const judge = (lines: readonly Written[], records = [record]) =>
    problemsOf({ way: '', kills: 0, lines, records });

  test('nothing, when nothing is wrong', () => {
    expect(judge([asked, recording, recorded, delivered])).toEqual([]);
    expect(judge([asked, { ...asked, life: 2 }, recording, recorded, delivered])).toEqual([]);
  });

  test('a result that was never delivered', () => {
    expect(judge([])).toEqual(['h was never delivered']);
  });

  test('a result that was delivered twice', () => {
    expect(judge([delivered, delivered])).toEqual(['h was delivered 2 times']);
  });

  test('a wrong result', () => {
    expect(judge([{ ...delivered, text: 'slept' }])).toEqual(['h (nap) said slept']);
  });

  test('a handle that is gone', () => {
    expect(judge([{ type: 'called', handle: 'h', life: 1 }], [])).toEqual(['h is gone']);
  });

  test('a question that was asked again though its answer was recorded', () => {
    expect(judge([asked, recording, recorded, { ...asked, life: 2 }, delivered])).toEqual([
      'q was asked after it was answered',
    ]);
  });

  test('a question that was asked twice in one life', () => {
    expect(judge([asked, asked, recording, recorded, delivered])).toEqual(['q was asked twice in life 1']);
  });

  test('an answer that was never recorded', () => {
    expect(judge([asked, delivered])).toEqual(['the answer to q was never recorded']);
  });
});
