import { expect, test } from 'vitest';
import type { Task } from '../../model/task.ts';
import { claimed, created, did, family, now, rules } from '../../testing/notebook.ts';
import { originalTasks, resultOf } from './dialect.ts';

function tree(task: Task) {
  return { root: now(task), descendants: family(task).descendants };
}

const shown = (task: Task) => originalTasks.shown(tree(task), 10_000);

test('S1686-31 S1686-32: unknown is said only of what became nobody knows, with a text; what failed is failed', () => {
  const lost = claimed();
  did(rules.fail(family(lost.task), lost.claim, { kind: 'lost', message: 'Nobody knows.' }, 5));
  expect(shown(lost.task)).toMatchObject({ status: 'unknown', error: 'Nobody knows.' });

  const broken = claimed();
  did(rules.fail(family(broken.task), broken.claim, { kind: 'failure', message: 'It broke.' }, 5));
  expect(shown(broken.task)).toMatchObject({ status: 'failed', error: 'It broke.' });
});

test('S1686-43: the result of a task of which nobody knows what became is refused', () => {
  const { task, claim } = claimed();
  did(rules.fail(family(task), claim, { kind: 'lost', message: 'Nobody knows.' }, 5));
  expect(() => resultOf(tree(task))).toThrow("Task status is 'unknown', not 'completed'");
});

test('S1686-38: a task that is kept without limit says null', () => {
  expect(shown(created({ retention: { from: 'finish', ms: null } }))).toMatchObject({ keepAlive: null });
  expect(shown(created({ retention: { from: 'creation', ms: null, floorMs: 1 } }))).toMatchObject({
    keepAlive: null,
  });
});

test('a task goes by the name that its requestor gave it, and otherwise by its id', () => {
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
