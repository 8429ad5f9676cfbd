import { expect, test } from 'vitest';
import type { Task } from '../../model/task.ts';
import { DoneTexts } from './done-texts.ts';

const done = { id: 'task-one', owner: 'ann', phase: 'done', purgeAt: 10_000 } as Task;
const serverInfo = { name: 'server' };
const moment = { now: 0, removals: 0 };

function counting(texts: DoneTexts, length = 10) {
  let made = 0;
  return {
    look: (task: Task, server: object = serverInfo) =>
      texts.of(task, server, moment, () => `${++made}`.padEnd(length)).trim(),
  };
}

test('a done task that comes again is worded twice, and then no more', () => {
  const { look } = counting(new DoneTexts());
  expect([look(done), look(done), look(done), look(done)]).toEqual(['1', '2', '2', '2']);
});

test('a task that is read anew, a live one and a long text are worded every time', () => {
  const { look } = counting(new DoneTexts());
  expect([look({ ...done }), look({ ...done }), look({ ...done })]).toEqual(['1', '2', '3']);
  const live = { ...done, phase: 'running' } as Task;
  expect([look(live), look(live), look(live)]).toEqual(['4', '5', '6']);
  const long = counting(new DoneTexts(), 100_000);
  expect([long.look(done), long.look(done), long.look(done)]).toEqual(['1', '2', '3']);
});

test('a server that introduces itself from now on is not answered for by what was said before', () => {
  const { look } = counting(new DoneTexts());
  const unknown = { name: 'not known yet' };
  for (let i = 0; i < 3; i++) look(done, unknown);
  expect(look(done)).toBe('3');
  expect(look(done)).toBe('3');
});

test('what was said is recalled for a second after the store was last read, and not past the end of the task', () => {
  const texts = new DoneTexts();
  const recall = (now: number, id = done.id) => texts.recall(id, 'ann', serverInfo, { ...moment, now })?.text;
  expect(recall(0)).toBeUndefined();
  const read = (now: number) => texts.of(done, serverInfo, { ...moment, now }, () => 'text');
  read(0);
  read(0);
  expect([recall(0), recall(999), recall(1_000)]).toEqual(['text', 'text', undefined]);
  read(1_000);
  expect(recall(1_999)).toBe('text');
  read(9_500);
  expect([recall(9_999), recall(10_000)]).toEqual(['text', undefined]);
  expect(recall(9_999, 'task-two')).toBeUndefined();
});

test('nobody but its owner is told what is remembered, and nobody at all once something was removed', () => {
  const texts = new DoneTexts();
  for (let i = 0; i < 2; i++) texts.of(done, serverInfo, moment, () => 'text');
  expect(texts.recall(done.id, 'ann', serverInfo, moment)?.text).toBe('text');
  expect(texts.recall(done.id, 'bob', serverInfo, moment)).toBeUndefined();
  expect(texts.recall(done.id, 'ann', { name: 'another' }, moment)).toBeUndefined();
  expect(texts.recall(done.id, 'ann', serverInfo, { ...moment, removals: 1 })).toBeUndefined();
  texts.of(done, serverInfo, { ...moment, removals: 1 }, () => 'read again');
  expect(texts.recall(done.id, 'ann', serverInfo, { ...moment, removals: 1 })?.text).toBe('read again');
});
