import { expect, test } from 'vitest';
import { child, claimed, created, did, family, now, result, rules } from '../testing/notebook.ts';
import { reportedTtl } from './retention.ts';

const minute = 60_000;

test('a requested ttl is reported as it is, and grows if the work outlives it', () => {
  const task = created({ retention: { from: 'creation', ms: 5 * minute, floorMs: minute } });
  expect(reportedTtl(task, task, 0)).toBe(5 * minute);
  expect(reportedTtl(task, task, 30 * minute)).toBe(31 * minute);
});

test('without a requested ttl, the ttl is deadline plus retention, or none without a deadline', () => {
  const task = created({ deadlineMs: 10 * minute, retention: { from: 'finish', ms: minute } });
  expect(reportedTtl(task, task, 0)).toBe(11 * minute);
  const patient = created({ deadlineMs: null });
  expect(reportedTtl(patient, patient, 0)).toBe(null);
  const kept = created({ retention: { from: 'finish', ms: null } });
  expect(reportedTtl(kept, kept, 0)).toBe(null);
});

test('a finished task reports when it will be purged', () => {
  const { task, claim } = claimed(created({ retention: { from: 'finish', ms: minute } }));
  did(rules.complete(family(task), claim, result, 3 * minute));
  expect(reportedTtl(now(task), now(task), 3 * minute)).toBe(4 * minute);
});

test('S2268-34: the ttl of a subtask ends with its tree, and is unlimited only if that of the tree is', () => {
  const root = claimed(created({ deadlineMs: 10 * minute, retention: { from: 'finish', ms: minute } }));
  const { task } = child(root, 2 * minute);
  const ttl = reportedTtl(task, now(root.task), 3 * minute)!;
  expect(task.createdAt + ttl).toBe(root.task.createdAt + 11 * minute);
  const patient = claimed(created({ deadlineMs: null }));
  expect(reportedTtl(child(patient).task, now(patient.task), 0)).toBe(null);
});
