import { expect, test } from 'vitest';
import type { Task } from '../../model/task.ts';
import { claimed, created, did, family, now, rules } from '../../testing/notebook.ts';
import { originalTasks, resultOf } from './dialect.ts';

function tree(task: Task) {
  return { root: now(task), descendants: family(task).descendants };
}

const shown = (task: Task) => originalTasks.shown(tree(task), 10_000);

test('S1686-31 S1686-32: only a lost task has the status unknown, with an error text; a failed task is failed', () => {
  const lost = claimed();
  did(rules.fail(family(lost.task), lost.claim, { kind: 'lost', message: 'Nobody knows.' }, 5));
  expect(shown(lost.task)).toMatchObject({ status: 'unknown', error: 'Nobody knows.' });

  const broken = claimed();
  did(rules.fail(family(broken.task), broken.claim, { kind: 'failure', message: 'It broke.' }, 5));
  expect(shown(broken.task)).toMatchObject({ status: 'failed', error: 'It broke.' });
});

test('S1686-43: the result of a lost task is refused', () => {
  const { task, claim } = claimed();
  did(rules.fail(family(task), claim, { kind: 'lost', message: 'Nobody knows.' }, 5));
  expect(() => resultOf(tree(task))).toThrow("Task status is 'unknown', not 'completed'");
});

test('S1686-38: the keepAlive of a task that is kept without limit is null', () => {
  expect(shown(created({ retention: { from: 'finish', ms: null } }))).toMatchObject({ keepAlive: null });
  expect(shown(created({ retention: { from: 'creation', ms: null, floorMs: 1 } }))).toMatchObject({
    keepAlive: null,
  });
});

test('a task has the id that its caller chose, or else our own', () => {
  const named = { taskId: 'mine', session: 'a', requestId: 1 };
  const origin = { dialect: 'sep-1686', method: 'tools/call', named };
  const task = created({ origin });
  expect(shown(task)).toMatchObject({
    taskId: 'mine',
    _meta: { 'modelcontextprotocol.io/related-task': { taskId: 'mine' } },
  });
  const other = created();
  expect(shown(other)).toMatchObject({ taskId: other.id });
});
