/**
 * One owner with two clients: the SDK's first generation with 2025-11-25, and ext-tasks with 2026-07-28.
 *
 * The older one does not hear that a question is taken back if the id of its request is 0, which it takes for none.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { taskId as idOf } from '@modelcontextprotocol/ext-tasks/core';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { until } from '../../kit/until.ts';
import { type Answer, connectSdkClient } from './2025-11-25/sdk-client.ts';
import { connectTasksClient } from './tasks-client.ts';
import { guarded, says, spinning, testsOf } from './world.ts';

const connect = (owner: 'ada' | 'bob', answer?: Answer) => async () => {
  const { url, requestInit } = await guarded(owner);
  const older = await connectSdkClient(new OlderTransport(url, { requestInit }), answer);
  const transport = new StreamableHTTPClientTransport(url, { requestInit });
  const later = await connectTasksClient(transport, '2026-07-28');
  return {
    older,
    later,
    /** A task that the later client has only heard of. */
    known: (taskId: string) => later.session.task(idOf(taskId)),
    async [Symbol.asyncDispose]() {
      await older[Symbol.asyncDispose]();
      await later[Symbol.asyncDispose]();
    },
  };
};

const never = new Promise<never>(() => {});

const withoutAnswers = testsOf(
  'both revisions',
  connect('bob', () => never),
);
const withAnswers = testsOf('both revisions', connect('bob'));

withoutAnswers(
  'a question of an older task is answered with the later, and taken back from the older',
  async ({ older, known }) => {
    const created = Promise.withResolvers<string>();
    const filename = 'notes.txt';
    const called = older.call('confirm_delete', { filename }, { onTask: created.resolve });
    const task = known(await created.promise);
    await until(() => older.asked.length === 1);
    equal((await task.snapshot()).status, 'input_required');
    await task.update({ confirm: { action: 'decline' } });
    says((await called).result, 'kept notes.txt');
    await until(() => older.asked[0]!.signal.aborted);
  },
);

withAnswers(
  'an older task is cancelled with the later, and a later one with the older',
  async ({ older, later, known }) => {
    const [one, other] = [spinning(), spinning()];
    const taskId = await older.start('spin', one.input);
    const otherId = await later.detached('spin', other.input);
    // Work is begun in the order in which it came: both are running when this is done.
    await older.result(await older.start('slow_compute', { seconds: 0.1 }));
    await known(taskId).cancel();
    equal((await older.tasks.getTask(taskId)).status, 'cancelled');
    equal((await older.tasks.cancelTask(otherId)).status, 'cancelled');
    equal((await known(otherId).snapshot()).status, 'cancelled');
    await Promise.all([one.stopped(), other.stopped()]);
  },
);

withAnswers(
  'a question of a later task is answered with the older, and both see the result',
  async ({ older, later }) => {
    const taskId = await later.detached('confirm_delete', { filename: 'notes.txt' });
    const news = await later.listen(taskId);
    await news.of('input_required');
    equal((await older.tasks.getTask(taskId)).status, 'input_required');
    says(await older.result(taskId), 'deleted notes.txt');
    deepEqual([older.asked.length, older.asked[0]!.taskId, later.asked.length], [1, taskId, 0]);
    says((await news.of('completed')).result, 'deleted notes.txt');
    await news.close();
  },
);

withAnswers(
  'an error result is a failure to the older, and completes the task to the later',
  async ({ older, known }) => {
    const { taskId, story } = await older.call('failing_job');
    equal(story.at(-2), 'failed');
    const outcome = await known(taskId!).result();
    ok(outcome.status === 'completed');
    deepEqual([outcome.result.isError, (await older.result(taskId!)).isError], [true, true]);
  },
);

withAnswers('the tasks of one owner are unknown to another with either', async ({ older, later }) => {
  await using ada = await connect('ada')();
  for (const taskId of [await older.start('nap', { ms: 1 }), await later.detached('nap', { ms: 1 })]) {
    await rejects(ada.older.tasks.getTask(taskId), { code: -32602 });
    await rejects(ada.older.result(taskId), { code: -32602 });
    await rejects(ada.known(taskId).snapshot(), { code: -32602 });
    equal((await older.tasks.getTask(taskId)).taskId, taskId);
  }
});
