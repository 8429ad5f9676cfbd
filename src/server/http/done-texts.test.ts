import { expect, test } from 'vitest';
import type { Task } from '../../model/task.ts';
import { DoneTexts } from './done-texts.ts';

const done = { id: 'task-one', phase: 'done' } as Task;
const serverInfo = { name: 'server' };

function counting(texts: DoneTexts, length = 10) {
  let made = 0;
  return {
    look: (task: Task, server: object = serverInfo) =>
      texts.of(task, server, () => `${++made}`.padEnd(length)).trim(),
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
