/** What the list does with news, for those who watch it and for those who read further down. */
import { expect, test } from 'vitest';
import { mostHeld, Rows } from '../../dashboard/src/list/rows.ts';
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

test('what is new waits until nobody reads, and then stands where its age puts it', () => {
  const rows = listed(task('c', 30), task('a', 10));
  rows.put(task('d', 40), true, true);
  rows.put(task('b', 20), true, true);
  expect(rows.ids).toEqual(['c', 'a']);
  expect(rows.held).toEqual({ count: 2, isMore: false });
  expect(rows.settle()).toEqual(new Set(['d', 'b']));
  expect(rows.ids).toEqual(['d', 'c', 'b', 'a']);
});

test('what matches no more stays in its place until nobody reads', () => {
  const rows = listed(task('b', 20), task('a', 10));
  rows.put(task('b', 20, { status: 'completed', version: 2 }), false, true);
  expect(rows.ids).toEqual(['b', 'a']);
  expect([rows.isLeaving('b'), rows.get('b')?.status]).toEqual([true, 'completed']);
  rows.settle();
  expect(rows.ids).toEqual(['a']);
});

test('what was purged is said to be gone, and comes back if it is told of again', () => {
  const rows = listed(task('a', 10));
  rows.remove('a');
  expect([rows.isGone('a'), rows.isLeaving('a')]).toEqual([true, true]);
  rows.settle();
  rows.put(task('a', 10), true, true);
  rows.settle();
  expect(rows.ids).toEqual(['a']);
  expect(rows.isGone('a')).toBe(false);
});

test('older news than what is known changes nothing', () => {
  const rows = listed(task('a', 10, { version: 5, status: 'completed' }));
  rows.put(task('a', 10, { version: 4 }), true, true);
  expect(rows.get('a')?.status).toBe('completed');
});

test('a page that overlaps with what came live has no row twice', () => {
  const rows = listed(task('c', 30));
  rows.put(task('b', 20), true, true);
  rows.settle();
  rows.append([task('b', 20), task('a', 10)]);
  expect(rows.ids).toEqual(['c', 'b', 'a']);
});

test('what would stand below all that was loaded is left to its page', () => {
  const rows = listed(task('c', 30));
  rows.put(task('a', 10), true, false);
  expect(rows.held.count).toBe(0);
});

test('only so many are held back, however long somebody reads', () => {
  const rows = listed(task('first', 0));
  for (let index = 0; index < mostHeld + 5; index++) rows.put(task(`t${index}`, index + 1), true, true);
  expect(rows.held).toEqual({ count: mostHeld, isMore: true });
});
