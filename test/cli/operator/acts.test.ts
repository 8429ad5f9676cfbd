/** Each operator command once; `desks.full.test.ts` has the rest. */
import { expect, test } from 'vitest';
import { asked, operatorToken, stage } from '../../operator/stage.ts';
import { Home } from '../terminal.ts';

test('an operator answers one task, cancels another, and retries and purges it', async () => {
  const { tasks, origin } = await stage();
  const home = new Home({ HOLDFAST_OPERATOR_TOKEN: operatorToken });
  const act = (...args: string[]) => home.run('tasks', ...args, '--url', origin);
  const waiting = async () => {
    const { id } = await tasks.create('approve', {});
    await asked(tasks, id);
    return id;
  };

  const answered = await waiting();
  await act('answer', answered, 'approval', '{"go": true}');
  expect(await tasks.outcome(answered)).toMatchObject({ kind: 'result', isError: false });

  const cancelled = await waiting();
  await act('cancel', cancelled, '--reason', 'enough');
  expect(await tasks.outcome(cancelled)).toMatchObject({ kind: 'cancelled' });

  const { stdout } = await act('retry', cancelled, '--json');
  const { id: again } = JSON.parse(stdout);
  expect(await tasks.get(again)).toMatchObject({ tool: 'approve' });

  await act('purge', cancelled, '--yes');
  expect(await tasks.get(cancelled)).toBe(undefined);
});
