import { expect, test } from 'vitest';
import { create } from '../../engine/rules/transitions.ts';
import type { TaskEvent } from '../../model/event.ts';
import type { Task } from '../../model/task.ts';
import { aTask } from '../../testing/fixtures.ts';
import { bodyOf, eventsIn, eventsText, taskIn } from './task-texts.ts';

test('a task is read as it was written, including the defaults that its body omits', () => {
  const { task } = create(undefined, aTask(), 1) as { task: Task };
  expect(bodyOf(task).body).not.toMatch(/rootId|ordinal|depth|hildCount|inputs/);
  const subtask = {
    ...task,
    rootId: 'r',
    parentId: 'p',
    ordinal: 2,
    depth: 3,
    childCount: 4,
    liveChildCount: 5,
  };
  for (const one of [task, subtask]) expect(taskIn(bodyOf(one as Task).body)).toEqual(one);
});

test('events are read as they were written', () => {
  const events: TaskEvent[] = [
    { type: 'created' },
    { type: 'claimed', epoch: 1, worker: 'w' },
    { type: 'claimed', epoch: 2, worker: 'v', takenFrom: 'w' },
    { type: 'recorded', entries: 3 },
    { type: 'finished', outcome: 'result' },
  ];
  expect(eventsIn(eventsText(events))).toEqual(events);
  expect(eventsText(events.slice(1, 2))).toBe('[[1,"w"]]');
});
