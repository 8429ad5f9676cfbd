/**
 * Handlers in processes that are killed with `kill -9`, and the check that judges them by the files their steps wrote.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Case, judge } from '../../../scripts/chaos/judge.ts';
import { problemText } from '../../../scripts/chaos/problem.ts';
import { isSound, lastLine } from '../../../scripts/chaos/report.ts';
import { type Judged, unleash } from '../../../scripts/chaos/run.ts';
import type { StepLine } from '../../../scripts/chaos/step-file.ts';
import type { Task } from '../../../src/index.ts';
import { seedOfThisRun } from '../../kit/random.ts';

const seed = seedOfThisRun();
/** The machine may be busy: times are judged accordingly. */
const slowness = 12;
const root = mkdtempSync(join(tmpdir(), 'holdfast-kills-'));
const folder = mkdtempSync(join(root, 'steps-'));
let judged: Judged;
let isSoundRun = false;

beforeAll(async () => {
  judged = await unleash({ file: join(root, 'tasks.db'), folder, seed, kills: 20, slowness });
  console.log(judged.report);
  isSoundRun = isSound(judged.report);
}, 600_000);

afterAll(() => {
  if (isSoundRun) rmSync(root, { recursive: true });
  else console.log(`The database and the files of the steps are left in ${root}.`);
});

test('twenty kills lose nothing, repeat no committed step and break no invariant', () => {
  const { report } = judged;
  expect(report.problems).toEqual([]);
  expect(lastLine(report)).toBe(
    `chaos: 20 kills, ${report.tasks} tasks, 0 lost, 0 repeated steps, 0 broken invariants`,
  );
});

test('the kills met work: steps in flight were run again, and questions stayed open across kills', () => {
  const { report } = judged;
  expect(report.tasks).toBeGreaterThan(60);
  expect(report.stepsRepeatedInFlight).toBeGreaterThan(0);
  expect(report.questionsOpenAcrossKills).toBeGreaterThan(0);
});

describe('the check complains of', () => {
  test('a committed step that ran again', () => {
    const { id, lines } = aVoyage();
    const again = { ...lines.find(({ step }) => step === 'chart')!, pass: lines.at(-1)!.pass };
    expect(problems({ lines: [id, [...lines, again]] })).toContain(
      `${id}: chart ran again after moor, which follows its commit`,
    );
  });

  test('a step in flight that ran again though nothing was killed', () => {
    const { id, lines } = aVoyage();
    const last = lines.at(-1)!;
    expect(problems({ lines: [id, [...lines, { ...last, at: last.at + 1 }]] })).toContain(
      `${id}: moor ran in pass ${last.pass} (process ${last.pid}) and again in pass ${last.pass} (process ${last.pid}), and no kill excuses it`,
    );
  });

  test('a step that ran in a pass after the one that committed it', () => {
    const { id, lines } = aVoyage();
    const { pass } = lines.at(-1)!;
    const later = lines.with(-1, { ...lines.at(-1)!, pass: pass + 1 });
    expect(problems({ lines: [id, later] })).toContain(
      `${id}: moor ran in pass ${pass + 1}, but was already committed in pass ${pass}`,
    );
  });

  test('a pass that went on when the next one had begun', () => {
    const { id, lines } = aVoyage();
    const mixed = lines.with(-2, { ...lines.at(-2)!, pass: 99 });
    expect(problems({ lines: [id, mixed] }).join()).toContain('when pass 99 had begun');
  });

  test('a step that never ran', () => {
    const { id, lines } = aVoyage();
    expect(problems({ lines: [id, lines.filter(({ step }) => step !== 'raced')] })).toEqual(
      expect.arrayContaining([`${id}: raced never ran`, expect.stringContaining('no step wrote a line')]),
    );
  });

  test('an attempt that was never made', () => {
    const { id, lines } = aVoyage();
    const two = lines.filter(({ step, attempt }) => step !== 'caulk' || attempt !== 2);
    expect(problems({ lines: [id, two] })).toContain(`${id}: caulk never ran (attempt 2 of 3)`);
  });

  test('a subtask whose steps never ran', () => {
    const { lines } = aVoyage();
    const [subtask] = lines.find(({ step }) => step === 'embark')!.value.subtasks as string[];
    expect(problems({ lines: [subtask!, []] })).toContain(`${subtask}: depart never ran`);
  });

  test('a handler that was given another value than its step wrote', () => {
    const { id, lines } = aVoyage();
    const chart = lines.findIndex(({ step }) => step === 'chart');
    const wrong = lines.with(chart, { ...lines[chart]!, value: { nonce: 'other' } });
    expect(problems({ lines: [id, wrong] })).toContain(
      `${id}: returned "${lines[chart]!.value.nonce}" for chart, which wrote "other"`,
    );
  });

  test('a handler that received a different answer', () => {
    const { id } = aVoyage();
    expect(problems({ case: { sentTo: () => 'nay' } })).toContainEqual(
      expect.stringMatching(`^${id}: leave-given received aye-.*, but nay was sent under "leave"$`),
    );
  });

  test('a timer that rang too early', () => {
    const { id, lines } = aVoyage();
    const sail = lines.findIndex(({ step }) => step === 'sail');
    const early = lines.with(sail, { ...lines[sail]!, at: lines[sail - 1]!.at + 1 });
    expect(problems({ lines: [id, early] }).join()).toMatch(/sail ran \d+ ms before its time/);
  });

  test('a timer that rang much too late', () => {
    const { id, lines } = aVoyage();
    const from = lines.findIndex(({ step }) => step === 'sail');
    const late = lines.map((line, index) => (index < from ? line : { ...line, at: line.at + 60_000 }));
    expect(problems({ lines: [id, late] }).join()).toMatch(/A timer was \d+ ms late/);
  });

  test('a restart after which no step ran for more than five seconds', () => {
    const { id, lines } = aVoyage();
    const end = Math.max(...[...judged.evidence.evidence.lines.values()].flat().map(({ at }) => at));
    const later = [...lines, { ...lines.at(-1)!, at: end + 6_001 }];
    const life = { startedAt: end + 1, readyAt: end + 1 };
    const restart = { at: end + 1, afterAll: true, lives: [life] };
    expect(problems({ lines: [id, later], case: { restarts: [restart] } })).toContain(
      'After a restart no step ran for 6000 ms, 0 of which Node took to start.',
    );
  });

  test('a task that is gone', () => {
    const { id } = aVoyage();
    expect(problems({ task: [id, undefined] })).toEqual(
      expect.arrayContaining([
        `${id}: never ended`,
        expect.stringContaining('was acknowledged as this task'),
      ]),
    );
  });

  test('a task that did not end well', () => {
    const { id } = aVoyage();
    const failed = { outcome: { kind: 'failure', message: 'Sunk.' } };
    expect(problems({ task: [id, failed] })).toContain(
      `${id}: ended as {"kind":"failure","message":"Sunk."}`,
    );
  });

  test('a question that was asked a second time under another key', () => {
    const { id, task } = aVoyage();
    const inputs = [...task.inputs, { ...task.inputs[0], key: 'leave~3' }];
    expect(problems({ task: [id, { inputs }] }).join()).toContain(`${id}: has the questions leave answered`);
  });

  test('a voyage that was ordered but never created', () => {
    const ordered = judged.evidence.ordered + 1;
    expect(problems({ case: { ordered } })).toContain(`Voyage ${ordered} was ordered but never created.`);
  });

  test('nothing, when nothing is wrong', () => {
    expect(problems({}, slowness)).toEqual([]);
  });
});

/** A voyage of the run that went through without being taken over, so that every line of it stands alone. */
function aVoyage(): { readonly id: string; readonly lines: readonly StepLine[]; readonly task: Task } {
  const { acknowledged, evidence, snapshot } = judged.evidence;
  const plain = [...acknowledged.values()].find((id) => {
    const lines = evidence.lines.get(id)!;
    return lines.filter(({ step }) => step !== 'tide').length === 35 && lines.at(-1)!.pass < 90;
  })!;
  return { id: plain, lines: evidence.lines.get(plain)!, task: snapshot.tasks.get(plain)! };
}

/** What the judge says when he is shown something else than what was found. */
function problems(
  instead: {
    readonly lines?: readonly [string, readonly StepLine[]];
    readonly task?: readonly [string, object | undefined];
    readonly case?: Partial<Case>;
  },
  slower = 1,
): string[] {
  const found = judged.evidence;
  const lines = new Map(found.evidence.lines);
  if (instead.lines) lines.set(...instead.lines);
  const tasks = new Map(found.snapshot.tasks);
  let { rows } = found.snapshot;
  if (instead.task) {
    const [id, change] = instead.task;
    if (change) tasks.set(id, { ...tasks.get(id)!, ...change } as Task);
    else rows = rows.filter((row) => row.id !== id);
  }
  const shown = {
    ...found,
    evidence: { ...found.evidence, lines },
    snapshot: { ...found.snapshot, rows, tasks },
    ...instead.case,
  };
  return judge(shown, slower).problems.map(problemText);
}
