/** The judge of step lines is shown lines that no process wrote. */
import { expect, test } from 'vitest';
import { type Returned, type StepLine, stepProblems } from './step-lines.ts';

const began = (pid: number, pass: number, at: number): StepLine => ({
  what: 'began',
  task: 't',
  pid,
  pass,
  at,
});
const problems = (lines: readonly StepLine[], result?: Returned, stalled: readonly number[] = []) =>
  stepProblems(lines, new Map([['t', result]]), new Set(stalled));

test('a step that ran once and returned has no problems', () => {
  expect(problems([began(1, 1, 0)], { pid: 1, pass: 1 })).toEqual([]);
});

test('a step may begin again in another process if the first one stalled', () => {
  const lines = [began(1, 1, 0), began(2, 2, 1)];
  expect(problems(lines, { pid: 2, pass: 2 }, [1])).toEqual([]);
  expect(problems(lines, { pid: 2, pass: 2 })).toEqual([
    't: process 2 took it from the healthy process 1, which never ended the step',
  ]);
});

test('a step may never begin again in the process that runs it, even if that stalled', () => {
  const lines = [began(1, 1, 0), began(1, 2, 1)];
  expect(problems(lines, { pid: 1, pass: 2 }, [1])).toEqual([
    't: its step began in pass 1 and again, in the same process 1, in pass 2',
  ]);
});

test('the result of a superseded pass is never committed', () => {
  const lines = [began(1, 1, 0), began(2, 2, 1)];
  expect(problems(lines, { pid: 1, pass: 1 }, [1])).toEqual([
    't: the result of pass 1 in 1 was committed, though pass 2 had begun in 2',
  ]);
});

test('a task must run and end', () => {
  expect(problems([began(1, 1, 0)])).toEqual(['t: it did not end with a result']);
  expect(problems([], { pid: 1, pass: 1 })).toEqual(['t: its step never began']);
});
