/** The checker of histories is shown histories that never happened: a good one, and that one with a flaw each. */
import { describe, expect, test } from 'vitest';
import { checkHistory } from '../../../scripts/chaos/cluster/check-history.ts';
import type { Attempt, Entry, Polled } from '../../../scripts/chaos/cluster/history.ts';
import { problemText } from '../../../scripts/chaos/problem.ts';
import { goodHistory, task } from './good-history.ts';

test('a history in which nothing is wrong has no problems, and its take-over is measured', () => {
  const { problems, takeOvers, attempts } = checkHistory(goodHistory());
  expect(problems).toEqual([]);
  expect(takeOvers).toEqual([{ task, how: 'killed', ms: 812, calmMs: 812 }]);
  expect([...attempts.tasks]).toEqual([task, 'leg-0', 'leg-1']);
  expect(attempts.inVain).toBe(1);
});

describe('it complains of', () => {
  test('an order that became nothing', () => {
    const ordered: Entry = { what: 'ordered', key: 'second', at: 1 };
    expect(problemsOf([...goodHistory(), ordered])).toEqual(['second was ordered but never created']);
  });

  test('an order that became two tasks', () => {
    const again = { ...found('created'), task: 'other' };
    expect(problemsOf([...goodHistory(), again])).toContain('first was created as errand and as other');
  });

  test('a task that was acknowledged and is not there', () => {
    const gone: Entry = { ...lastLook(), seen: null };
    expect(problemsOf([...goodHistory(), gone])).toEqual([
      'errand: was acknowledged, but server-2 cannot find it',
    ]);
  });

  test('a task that never ended', () => {
    const unended = goodHistory().filter((entry) => !('seen' in entry) || !entry.seen?.result);
    expect(problemsOf(unended)).toContain('errand: never ended');
  });

  test('an end that was undone, as a later look shows', () => {
    expect(problemsOf([...goodHistory(), laterLook({ status: 'working' })])).toEqual([
      'errand: ended as completed, but server-2 showed it as working',
    ]);
  });

  test('a second end', () => {
    const failed = laterLook({ status: 'failed', result: '{}' });
    expect(problemsOf([...goodHistory(), failed])[0]).toMatch(
      /^errand: ended as completed at .*, then as failed/,
    );
  });

  test('another result than was shown before', () => {
    expect(problemsOf([...goodHistory(), laterLook({ result: '{"content":[]}' })]).join()).toContain(
      ', then as completed',
    );
  });

  test('a server that shows something older than another has shown before', () => {
    const look = laterLook({ updatedAt: new Date(0).toISOString() });
    expect(problemsOf([...goodHistory(), look]).join()).toMatch(/was shown as of .*, and later by server-2/);
  });

  test('progress that goes back, but not in two polls that cross each other', () => {
    const early = goodHistory().find(({ what }) => what === 'polled') as Polled;
    const [later, crossing] = [early.at + 0.1, early.from].map((from) => ({
      ...early,
      from,
      at: early.at + 0.2,
      seen: { ...early.seen!, progress: 0 },
    }));
    expect(problemsOf([...goodHistory(), crossing!])).toEqual([]);
    expect(problemsOf([...goodHistory(), later!])).toEqual([
      'errand: its progress was 1, but server-1 later showed 0',
    ]);
  });

  test('a question that is open although its answer was acknowledged', () => {
    const history = goodHistory();
    const { at } = history.find(({ what }) => what === 'answered') as Polled;
    const early = history.find(({ what }) => what === 'polled') as Polled;
    const seen = { ...early.seen!, status: 'input_required' as const, questions: ['leave'] };
    expect(problemsOf([...history, { ...early, from: at + 0.1, at: at + 0.2, seen }])).toContain(
      'errand: its answer to leave was acknowledged, but server-1 asked again',
    );
  });

  test('an answer that was acknowledged and that no step received', () => {
    const history = changed((entry) => entry.what === 'answered', { words: 'nay' });
    expect(problemsOf(history)).toEqual(
      expect.arrayContaining([
        'errand: its answer to leave was acknowledged, but no step received it',
        'errand: it received "aye", which was never sent',
      ]),
    );
  });

  test('a cancellation that was acknowledged and came to nothing', () => {
    const { at } = found('created');
    const cancelled: Entry = { what: 'cancelled', task, server: 'server-1', from: at!, at: at! + 1 };
    expect(problemsOf([...goodHistory(), cancelled])).toEqual([
      'errand: was cancelled, but server-1 showed it as working',
    ]);
    // One that was not acknowledged may come to nothing.
    expect(problemsOf([...goodHistory(), { ...cancelled, at: null }])).toEqual([]);
  });

  test('an end that nobody asked for', () => {
    const history = goodHistory().map((entry) =>
      'seen' in entry && entry.seen?.result
        ? { ...entry, seen: { ...entry.seen, status: 'cancelled' as const } }
        : entry,
    );
    expect(problemsOf(history)).toContain('errand: it was not cancelled, but ended as cancelled');
  });

  test('a subscription that was not problemText of the end', () => {
    const history = goodHistory()
      .filter(({ what }) => what !== 'notified')
      .map((entry) => (entry.what === 'closed' ? { ...entry, at: entry.at + 60_000 } : entry));
    expect(problemsOf(history)).toEqual([
      'errand: ended, but a subscription on server-2 was not notified for 5000 ms',
    ]);
  });

  test('a subscription that speaks on after the end', () => {
    const again = { ...found('notified') };
    expect(problemsOf([...goodHistory(), again]).join()).toContain('one subscription reported completed');
  });

  test('one pass in two processes', () => {
    const history = changed(({ what, step }) => what === 'began' && step === 'pack', { process: 'worker-9' });
    expect(problemsOf(history)).toContain('errand: pass 1 ran in worker-9 and in worker-1');
  });

  test('a step that was committed by two passes', () => {
    const history = changed(({ step }) => step === 'moor', { knows: { haul: 'of the other pass' } });
    expect(problemsOf(history)).toContain('errand: haul was committed 2 times');
  });

  test('a committed step that ran again', () => {
    const moor = goodHistory().findLast(({ what }) => what === 'did') as Attempt;
    const again = { task, step: 'pack', nonce: 'again', at: moor.at + 1, knows: {} };
    expect(problemsOf([...goodHistory(), { ...moor, ...again, what: 'began' }])).toContain(
      'errand: pack was committed by pass 1 (worker-1), and ran again in pass 2 (worker-2)',
    );
  });

  test('a writer that commits when another has taken its place', () => {
    // The first worker was not dead: what it did of the step counts, though the second had begun.
    const history = goodHistory();
    const began = history.find((entry) => entry.what === 'began' && entry.pass === 2) as Attempt;
    const late = { pass: 1, process: 'worker-1', at: began.at + 1 };
    const second = history.filter((entry) => entry !== began);
    const flawed = second.map((entry) =>
      entry.what === 'did' && entry.step === 'sail' ? { ...entry, ...late } : entry,
    );
    const other = { ...began, step: 'sail', nonce: 'other' };
    expect(problemsOf([...flawed, other])).toContain(
      'errand: worker-1 committed sail under the claim of pass 1, although pass 2 already ran in worker-2',
    );
  });

  test('an attempt that runs again when the next one has begun', () => {
    const pack = goodHistory().find((entry) => entry.what === 'began') as Attempt;
    const second = { ...pack, what: 'began' as const, attempt: 2, nonce: '2', at: pack.at - 2 };
    expect(problemsOf([second, ...goodHistory()])).toContain(
      'errand: attempt 1 of pack ran after a later one',
    );
  });

  test('a value that no step has made', () => {
    const history = goodHistory().filter((entry) => entry.what !== 'did' || entry.step !== 'haul');
    expect(problemsOf(history)).toContain('errand: received the value of a haul that was never done');
  });

  test('a step that is missing from a result', () => {
    const history = goodHistory().map((entry) =>
      'seen' in entry && entry.seen?.result
        ? { ...entry, seen: { ...entry.seen, result: entry.seen.result.replace('pack', 'unpack') } }
        : entry,
    );
    expect(problemsOf(history)).toEqual(
      expect.arrayContaining([
        'errand: pack is missing from its result',
        'errand: unpack is in its result, but not in its programme',
      ]),
    );
  });

  test('a timer that rang too early', () => {
    const history = changed(({ what, step }) => what === 'began' && step === 'sail', { lateMs: -5 });
    expect(problemsOf(history)).toContain('errand: sail ran 5 ms before its time');
  });

  test('work that nobody ordered', () => {
    const pack = goodHistory().find((entry) => entry.what === 'began') as Attempt;
    expect(problemsOf([...goodHistory(), { ...pack, task: 'stray', root: 'stray' }])).toContain(
      'stray: its steps ran, but it was never ordered',
    );
  });

  test('a take-over that comes too late', () => {
    expect(checkHistory(goodHistory(), { killed: 500, stopped: 500 }).problems.map(problemText)).toEqual([
      'errand: resumed only 812 ms after its process was killed, 812 ms of them undisturbed',
    ]);
  });

  test('a take-over that comes too late after a stop, however the stopped process goes on', () => {
    const history = goodHistory().map((entry) =>
      entry.what === 'fate' && entry.fate === 'killed' ? { ...entry, fate: 'stopped' as const } : entry,
    );
    const { at } = history.find((entry) => entry.what === 'fate' && entry.fate === 'stopped') as Attempt;
    const back: Entry = {
      what: 'fate',
      process: 'worker-1',
      role: 'worker',
      fate: 'continued',
      at: at + 600,
    };
    const bounds = { killed: 500, stopped: 500 };
    expect(checkHistory([...history, back], bounds, 200).problems.map(problemText)).toEqual([
      'errand: resumed only 600 ms after its process was stopped, 600 ms of them undisturbed',
    ]);
  });

  test('a version that is missing, and a last one that was not told', () => {
    const gap = goodHistory().filter((entry) => entry.what !== 'commit' || entry.version !== 2);
    expect(problemsOf(gap)).toEqual(['errand: version 3 followed version 1']);
    const short = goodHistory().filter((entry) => entry.what !== 'commit' || entry.version !== 3);
    expect(problemsOf(short)).toEqual(['errand: its last commit was version 2, but the stored version is 3']);
  });

  test('a journal that settles a call twice', () => {
    const history = changed(({ what }) => what === 'stored', { settled: [0, 1, 1] });
    expect(problemsOf(history)).toEqual(['errand: its journal settles a call twice']);
  });
});

function problemsOf(history: readonly Entry[]): string[] {
  return checkHistory(history).problems.map(problemText);
}

function found<What extends Entry['what']>(what: What): Extract<Entry, { what: What }> {
  return goodHistory().find((entry) => entry.what === what) as Extract<Entry, { what: What }>;
}

function lastLook(): Polled {
  return goodHistory().findLast(({ what }) => what === 'polled') as Polled;
}

/** One more look, after all that is in the history. */
function laterLook(seen: Partial<Polled['seen'] & object>): Polled {
  const last = lastLook();
  const { result: _, ...shown } = last.seen!;
  const end = seen.status === 'working' ? shown : last.seen!;
  return { ...last, from: last.at + 1, at: last.at + 2, seen: { ...end, ...seen } };
}

/** The good history, with the entries that are meant changed. */
function changed(isMeant: (entry: Named) => boolean, change: object): Entry[] {
  return goodHistory().map((entry) => (isMeant(entry) ? ({ ...entry, ...change } as Entry) : entry));
}

/** What all entries are problemText apart by. */
interface Named {
  readonly what: Entry['what'];
  readonly step?: string;
}
