import { expect, test } from 'vitest';
import { tasksExpected } from './run.ts';
import type { Recording } from './suite.ts';
import { problems, type Tally, tally } from './verdict.ts';

// --- The counter, on recorded runs ------------------------------------------------------------------------

const created = { id: 'sep-2663-result-type-task-on-create', name: 'TasksServerTaskCreation' };
const valid = { id: 'wire-schema-valid', name: 'WireSchemaValid' };
const optional = { id: 'server-sse-streams-functional', name: 'ServerSSEStreamsFunctional' };

function recorded(scenario: string, checks: object, code = 0): Recording {
  return { code, output: 'Checks:\n', checks: new Map([[scenario, JSON.stringify(checks)]]) };
}

function only(tallies: readonly Tally[]): Tally {
  expect(tallies).toHaveLength(1);
  return tallies[0]!;
}

test('only checks that succeeded are passed; what is for information is neither', () => {
  const checks = [
    { ...created, status: 'SUCCESS' },
    { ...optional, status: 'INFO' },
    { ...valid, status: 'SUCCESS' },
  ];
  const one = only(tally(['tasks-lifecycle'], recorded('tasks-lifecycle', checks)));
  expect(one).toEqual({
    scenario: 'tasks-lifecycle',
    passed: 2,
    failed: 0,
    warned: 0,
    skipped: false,
    shortfalls: [],
  });
});

test('failures and warnings are told apart, and both are shortfalls', () => {
  const checks = [
    { ...created, status: 'FAILURE', errorMessage: 'Expected resultType "task"' },
    { ...optional, status: 'WARNING', errorMessage: 'Only 1/3 SSE streams were functional' },
    { ...valid, status: 'SUCCESS' },
  ];
  const one = only(tally(['tasks-lifecycle'], recorded('tasks-lifecycle', checks, 1)));
  expect(one).toMatchObject({ passed: 1, failed: 1, warned: 1, skipped: false });
  expect(one.shortfalls).toEqual([
    { check: created.id, message: 'Expected resultType "task"' },
    { check: optional.id, message: 'Only 1/3 SSE streams were functional' },
  ]);
});

test('a scenario whose checks are all skipped is skipped', () => {
  const name = 'tasks-status-notifications';
  const check = { id: name, name, status: 'SKIPPED', errorMessage: 'Skipped: pending a rewrite' };
  expect(only(tally([name], recorded(name, [check])))).toMatchObject({ passed: 0, skipped: true });
});

test('a scenario that the suite declines to run is skipped, though it ends with code 0', () => {
  const output =
    "SKIPPED: scenario 'tasks-lifecycle' is not applicable at spec version 2026-07-28 (extension scenario, not on the spec timeline). Use --force to run it anyway.\n";
  const one = only(tally(['tasks-lifecycle'], { code: 0, output, checks: new Map() }));
  expect(one).toMatchObject({ passed: 0, failed: 0, skipped: true });
});

test.each([
  ['without a file of checks', { code: 0, output: '', checks: new Map<string, string>() }],
  ['with checks of another scenario only', recorded('caching', [{ ...valid, status: 'SUCCESS' }])],
  ['with an empty list of checks', recorded('tasks-lifecycle', [])],
  [
    'with an exit code that no check explains',
    recorded('tasks-lifecycle', [{ ...valid, status: 'SUCCESS' }], 1),
  ],
])('a run %s has failed', (_, recording) => {
  expect(only(tally(['tasks-lifecycle'], recording))).toMatchObject({ passed: 0, failed: 1, skipped: false });
});

// --- The verdict ------------------------------------------------------------------------------------------

function passing(scenario: string, passed: number): Tally {
  return { scenario, passed, failed: 0, warned: 0, skipped: false, shortfalls: [] };
}

function failing(scenario: string, check: string): Tally {
  const shortfalls = [{ check, message: 'as it is' }];
  return { scenario, passed: 0, failed: 1, warned: 0, skipped: false, shortfalls };
}

const skippedOne: Tally = { ...passing('tasks-status-notifications', 0), skipped: true };

test('44 passed checks and one skipped scenario are as expected', () => {
  expect(problems([passing('tasks-lifecycle', 44), skippedOne], tasksExpected)).toEqual([]);
});

test('fewer or more checks than 44 are a problem, though none failed', () => {
  expect(problems([passing('tasks-lifecycle', 43), skippedOne], tasksExpected)).toEqual([
    'Only 43 checks passed; there must be 44.',
  ]);
  expect(problems([passing('tasks-lifecycle', 45), skippedOne], tasksExpected)).toHaveLength(1);
});

test('a scenario that is skipped, or no longer skipped, is a problem', () => {
  const tallies = [passing('tasks-lifecycle', 44), { ...passing('tasks-wire-fields', 0), skipped: true }];
  expect(problems(tallies, tasksExpected)).toEqual([
    'tasks-wire-fields was skipped by the suite.',
    'tasks-status-notifications is no longer skipped.',
  ]);
});

const known = { caching: { 'sep-2549-ttl-non-negative': 'the reason' } };

test('a check that is listed may fail, and any other may not', () => {
  const expected = { passed: 0, skipped: [], known };
  expect(problems([failing('caching', 'sep-2549-ttl-non-negative')], expected)).toEqual([]);
  expect(problems([failing('caching', 'sep-2549-cache-scope-valid')], expected)).toEqual([
    'caching: sep-2549-cache-scope-valid does not pass: as it is',
    'caching: sep-2549-ttl-non-negative is listed among the checks that do not pass, and passes. Take it off.',
  ]);
});

test('a check that is listed and passes, or is not run at all, is a problem', () => {
  const expected = { passed: 1, skipped: [], known };
  expect(problems([passing('caching', 1)], expected)).toEqual([
    'caching: sep-2549-ttl-non-negative is listed among the checks that do not pass, and passes. Take it off.',
  ]);
  expect(problems([passing('tools-list', 1)], expected)).toEqual([
    'caching has checks that are listed as not passing, and was not run.',
  ]);
});
