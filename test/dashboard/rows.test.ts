/** How the list applies changes, at the top and while the user reads further down. */
import { expect, test } from 'vitest';
import { maxHeld, Rows } from '../../dashboard/src/list/rows.ts';
import type { TaskSummary } from '../../src/operator/api.ts';
import { summary } from '../kit/stories.ts';

function task(id: string, createdAt: number, given: Partial<TaskSummary> = {}): TaskSummary {
  return summary({ id, createdAt, updatedAt: createdAt, ...given });
}

function listed(...tasks: TaskSummary[]): Rows {
  const rows = new Rows();
  rows.append(tasks);
  return rows;
}

test('new tasks are held back while the user reads, and then sorted in by age', () => {
  const rows = listed(task('c', 30), task('a', 10));
  rows.put(task('d', 40), true, true);
  rows.put(task('b', 20), true, true);
  expect(rows.ids).toEqual(['c', 'a']);
  expect(rows.held).toEqual({ count: 2, isMore: false });
  expect(rows.settle()).toEqual(new Set(['d', 'b']));
  expect(rows.ids).toEqual(['d', 'c', 'b', 'a']);
});

test('a task that no longer matches keeps its row while the user reads', () => {
  const rows = listed(task('b', 20), task('a', 10));
  rows.put(task('b', 20, { status: 'completed', version: 2 }), false, true);
  expect(rows.ids).toEqual(['b', 'a']);
  expect([rows.isLeaving('b'), rows.get('b')?.status]).toEqual([true, 'completed']);
  rows.settle();
  expect(rows.ids).toEqual(['a']);
});

test('a purged task is marked as gone, and comes back with a new change', () => {
  const rows = listed(task('a', 10));
  rows.remove('a');
  expect([rows.isGone('a'), rows.isLeaving('a')]).toEqual([true, true]);
  rows.settle();
  rows.put(task('a', 10), true, true);
  rows.settle();
  expect(rows.ids).toEqual(['a']);
  expect(rows.isGone('a')).toBe(false);
});

test('an older version of a task changes nothing', () => {
  const rows = listed(task('a', 10, { version: 5, status: 'completed' }));
  rows.put(task('a', 10, { version: 4 }), true, true);
  expect(rows.get('a')?.status).toBe('completed');
});

test('a page that overlaps with live changes adds no duplicate rows', () => {
  const rows = listed(task('c', 30));
  rows.put(task('b', 20), true, true);
  rows.settle();
  rows.append([task('b', 20), task('a', 10)]);
  expect(rows.ids).toEqual(['c', 'b', 'a']);
});

test('a task below the last loaded row is left to its page', () => {
  const rows = listed(task('c', 30));
  rows.put(task('a', 10), true, false);
  expect(rows.held.count).toBe(0);
});

test('the number of tasks held back is limited', () => {
  const rows = listed(task('first', 0));
  for (let index = 0; index < maxHeld + 5; index++) rows.put(task(`t${index}`, index + 1), true, true);
  expect(rows.held).toEqual({ count: maxHeld, isMore: true });
});
