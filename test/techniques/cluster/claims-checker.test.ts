/** The checker of histories is shown claims that changed hands: some with an excuse, most without. */
import { describe, expect, test } from 'vitest';
import { checkClaims } from '../../../scripts/chaos/cluster/check-claims.ts';
import { checkHistory } from '../../../scripts/chaos/cluster/check-history.ts';
import type { Began, Entry, Fate } from '../../../scripts/chaos/cluster/history.ts';
import { problemText } from '../../../scripts/chaos/problem.ts';
import { goodHistory } from './good-history.ts';

const leaseMs = 1_000;
const task = 't';

/** Begins of one step; an attempt that is given `until` was done then. */
function attempt(process: string, pass: number, at: number, until?: number, step = 'haul'): Entry[] {
  const nonce = `${process}/${pass}/${step}`;
  const line = { task, root: task, step, attempt: 1, pass, process, nonce, knows: {} };
  const did: Entry[] = until === undefined ? [] : [{ ...line, what: 'did', at: until }];
  return [{ ...line, what: 'began', at } satisfies Began, ...did];
}

function fate(process: string, what: Fate['fate'], at: number): Entry {
  return { what: 'fate', process, role: 'worker', fate: what, at };
}

function problemsOf(...parts: (Entry | Entry[])[]): string[] {
  const history = parts.flat().toSorted((a, b) => ('at' in a ? a.at! : 0) - ('at' in b ? b.at! : 0));
  return checkClaims(history, leaseMs).map(problemText);
}

const robbed = 't: b took it from a, which was healthy and in haul';
const again = 't: haul ran in a and again in b, and neither a kill nor a stall excuses it';

test('a history in which nothing is wrong has no problems', () => {
  expect(checkClaims(goodHistory(), leaseMs)).toEqual([]);
});

describe('a task may be taken from', () => {
  test('a process that was killed', () => {
    expect(problemsOf(attempt('a', 1, 0), fate('a', 'killed', 100), attempt('b', 2, 500, 600))).toEqual([]);
  });

  test.each(['stopped', 'blocked'] as const)('one that was %s for as long as others wait', (how) => {
    const taken = [attempt('a', 1, 0, 4_000), fate('a', how, 100), attempt('b', 2, 2_600, 2_700)];
    expect(problemsOf(...taken, fate('a', 'continued', 2_800))).toEqual([]);
    expect(problemsOf(...taken)).toEqual([]);
  });

  test('one that was stopped before it had connected again', () => {
    const cut: Entry = { what: 'cut', from: 0, at: 50, connections: 3 };
    const stopped = [attempt('a', 1, 0, 4_000), fate('a', 'stopped', 100), fate('a', 'continued', 3_000)];
    expect(problemsOf(...stopped, cut, attempt('b', 2, 1_800, 1_900))).toEqual([]);
    expect(problemsOf(...stopped, attempt('b', 2, 1_800, 1_900))).toEqual([robbed, again]);
  });

  test('any, when the database was away', () => {
    const away: Entry = { what: 'restarted', from: 100, at: 1_500 };
    expect(problemsOf(attempt('a', 1, 0, 3_000), away, attempt('b', 2, 1_700, 1_800))).toEqual([]);
  });

  test('any, when nobody could commit for so long', () => {
    const commits = [100, 1_500].map((at): Entry => ({ what: 'commit', task, version: at, at }));
    const between: Entry = { what: 'commit', task, version: 800, at: 800 };
    const taken = [attempt('a', 1, 0, 3_000), attempt('b', 2, 1_600, 1_700), commits];
    expect(problemsOf(...taken)).toEqual([]);
    expect(problemsOf(...taken, between)).toEqual([]);
    expect(problemsOf(...taken, between, { ...between, at: 500 }, { ...between, at: 1_200 })).toEqual([
      robbed,
      again,
    ]);
  });

  test('one that is not in a step: it has parked', () => {
    expect(problemsOf(attempt('a', 1, 0, 10), attempt('b', 2, 500, 600, 'moor'))).toEqual([]);
  });
});

describe('it complains of a task that is taken from', () => {
  test('a process to which nothing happened', () => {
    expect(problemsOf(attempt('a', 1, 0, 3_000), attempt('b', 2, 1_500, 1_600))).toEqual([robbed, again]);
  });

  test('one whose stall was shorter than others wait', () => {
    expect(
      problemsOf(
        attempt('a', 1, 0, 5_000),
        fate('a', 'stopped', 100),
        fate('a', 'continued', 2_000),
        attempt('b', 2, 3_500, 3_600),
      ),
    ).toEqual([robbed, again]);
  });

  test('one whose stall had ended before its step began', () => {
    expect(
      problemsOf(
        fate('a', 'blocked', 0),
        fate('a', 'continued', 2_000),
        attempt('a', 1, 2_100, 5_000),
        attempt('b', 2, 3_000, 3_100),
      ),
    ).toEqual([robbed, again]);
  });

  test('one when a third process was killed', () => {
    expect(
      problemsOf(attempt('a', 1, 0, 3_000), fate('c', 'killed', 100), attempt('b', 2, 1_500, 1_600)),
    ).toEqual([robbed, again]);
  });

  test('one whose clock, or that of the taker, was moved', () => {
    const moved = ['a', 'b'].map(
      (process): Entry => ({ what: 'clock', process, offsetMs: 3_600_000, at: 100 }),
    );
    expect(problemsOf(attempt('a', 1, 0, 3_000), moved, attempt('b', 2, 1_500, 1_600))).toEqual([
      robbed,
      again,
    ]);
  });

  test('a healthy one in another step', () => {
    expect(problemsOf(attempt('a', 1, 0, 3_000), attempt('b', 2, 1_500, 1_600, 'moor'))).toEqual([robbed]);
  });
});

describe('it complains of a step that begins again', () => {
  const beside = 't: haul began in pass 1 and, while that still ran, again in pass 2 of the same a';

  test('in the process that runs it', () => {
    expect(problemsOf(attempt('a', 1, 0, 3_000), attempt('a', 2, 1_500, 1_600))).toEqual([beside]);
  });

  test('in the process that runs it, even after a stall', () => {
    expect(
      problemsOf(
        attempt('a', 1, 0, 5_000),
        fate('a', 'blocked', 100),
        fate('a', 'continued', 2_000),
        attempt('a', 2, 2_001, 3_000),
      ),
    ).toEqual([beside]);
  });

  test('but not if another process had taken the task over in between', () => {
    expect(
      problemsOf(
        attempt('a', 1, 0, 5_000),
        fate('a', 'stopped', 100),
        attempt('b', 2, 3_200),
        fate('b', 'killed', 3_300),
        fate('a', 'continued', 3_400),
        attempt('a', 3, 3_500, 3_600),
      ),
    ).toEqual([]);
  });

  test('elsewhere, when it was done and nothing befell its process', () => {
    expect(problemsOf(attempt('a', 1, 0, 10), attempt('b', 2, 500, 600))).toEqual([again]);
  });
});

test('the whole verdict knows these rules, and holds no moved clock against timers and times shown', () => {
  const history = goodHistory();
  const killed = history.filter((entry) => entry.what !== 'fate' || entry.fate !== 'killed');
  expect(checkHistory(killed).problems.map(problemText)).toContain(
    'errand: worker-2 took it from worker-1, which was healthy and in sail',
  );
  const early = history.map((entry) =>
    entry.what === 'began' && entry.step === 'moor' ? { ...entry, lateMs: -50 } : entry,
  );
  const moved: Entry = { what: 'clock', process: 'worker-2', offsetMs: 3_600_000, at: 0 };
  expect(checkHistory(early).problems.map(problemText)).toEqual(['errand: moor ran 50 ms before its time']);
  expect(checkHistory([moved, ...early]).problems).toEqual([]);
});
