/**
 * One owner with two clients: the SDK's first generation with 2025-11-25, and ext-tasks with 2026-07-28.
 *
 * The older one does not hear that a question is taken back if the id of its request is 0, which it takes for none.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { TaskController } from '@modelcontextprotocol/ext-tasks/client';
import { taskId as idOf } from '@modelcontextprotocol/ext-tasks/core';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { until } from '../chaos/until.ts';
import {
  type Answer,
  callTool,
  connectSdkClient,
  resultOf,
  type SdkClient,
  start,
} from './2025-11-25/sdk-client.ts';
import type { InteropCase } from './case.ts';
import { linesOf } from './file.ts';
import { says } from './says.ts';
import { connectTasksClient, type TasksClient } from './tasks-client.ts';
import type { World } from './world.ts';

interface Clients extends AsyncDisposable {
  readonly older: SdkClient;
  readonly later: TasksClient;
}

async function connect(world: World, answer?: Answer): Promise<Clients> {
  const { url, requestInit } = await world.guarded('bob');
  const older = await connectSdkClient(new OlderTransport(url, { requestInit }), answer);
  const later = await connectTasksClient(new StreamableHTTPClientTransport(url, { requestInit }));
  return {
    older,
    later,
    async [Symbol.asyncDispose]() {
      await older[Symbol.asyncDispose]();
      await later[Symbol.asyncDispose]();
    },
  };
}

async function startLater({ session }: TasksClient, tool: string, input = {}): Promise<string> {
  const execution = await session.callTool(tool, input);
  if (execution.kind !== 'task') throw new Error(`${tool} was answered without a task.`);
  await execution.detach();
  return execution.handle.taskId;
}

/** A task that this client has only heard of. */
function known({ session }: TasksClient, taskId: string): TaskController {
  return session.task(idOf(taskId));
}

export const bothRevisions: readonly InteropCase[] = [
  {
    title:
      'both revisions: a question of an older task is answered with the later, and taken back from the older',
    async run(world) {
      const never = Promise.withResolvers<never>();
      await using clients = await connect(world, () => never.promise);
      const { older, later } = clients;
      const created = Promise.withResolvers<string>();
      const called = callTool(
        older,
        'confirm_delete',
        { filename: 'notes.txt' },
        { onTask: created.resolve },
      );
      const taskId = await created.promise;
      await until(() => older.asked.length === 1);
      const task = known(later, taskId);
      equal((await task.snapshot()).status, 'input_required');
      await task.update({ confirm: { action: 'decline' } });
      says((await called).result!, 'kept notes.txt');
      await until(() => older.asked[0]!.signal.aborted);
    },
  },
  {
    title: 'both revisions: an older task is cancelled with the later, and a later one with the older',
    async run(world) {
      await using clients = await connect(world);
      const { older, later } = clients;
      const folder = await world.folder();
      const [file, otherFile] = [join(folder, 'older'), join(folder, 'later')];
      const taskId = await start(older, 'spin', { seconds: 600, file });
      const otherId = await startLater(later, 'spin', { seconds: 600, file: otherFile });
      // Work is begun in the order in which it came: both are running when this is done.
      await resultOf(older, await start(older, 'slow_compute', { seconds: 0.1 }));
      await known(later, taskId).cancel();
      equal((await older.tasks.getTask(taskId)).status, 'cancelled');
      equal((await older.tasks.cancelTask(otherId)).status, 'cancelled');
      equal((await known(later, otherId).snapshot()).status, 'cancelled');
      await until(() => linesOf(file).includes('stopped') && linesOf(otherFile).includes('stopped'));
    },
  },
  {
    title: 'both revisions: a question of a later task is answered with the older, and both see the result',
    async run(world) {
      await using clients = await connect(world);
      const { older, later } = clients;
      const taskId = await startLater(later, 'confirm_delete', { filename: 'notes.txt' });
      const news = await later.listen(taskId);
      await news.of('input_required');
      equal((await older.tasks.getTask(taskId)).status, 'input_required');
      says(await resultOf(older, taskId), 'deleted notes.txt');
      deepEqual([older.asked.length, older.asked[0]!.taskId, later.asked.size], [1, taskId, 0]);
      const end = await news.of('completed');
      ok(end.status === 'completed');
      says(end.result, 'deleted notes.txt');
      await news.close();
    },
  },
  {
    title: 'both revisions: an error result is a failure to the older, and completes the task to the later',
    async run(world) {
      await using clients = await connect(world);
      const { older, later } = clients;
      const { taskId, story } = await callTool(older, 'failing_job');
      equal(story.at(-2), 'failed');
      const outcome = await known(later, taskId!).result();
      ok(outcome.status === 'completed');
      deepEqual([outcome.result.isError, (await resultOf(older, taskId!)).isError], [true, true]);
    },
  },
  {
    title: 'both revisions: the tasks of one owner are unknown to another with either',
    async run(world) {
      await using clients = await connect(world);
      const { url, requestInit } = await world.guarded('ada');
      await using older = await connectSdkClient(new OlderTransport(url, { requestInit }));
      await using later = await connectTasksClient(new StreamableHTTPClientTransport(url, { requestInit }));
      const made = [
        await start(clients.older, 'nap', { ms: 1 }),
        await startLater(clients.later, 'nap', { ms: 1 }),
      ];
      for (const taskId of made) {
        await rejects(older.tasks.getTask(taskId), { code: -32602 });
        await rejects(resultOf(older, taskId), { code: -32602 });
        await rejects(known(later, taskId).snapshot(), { code: -32602 });
        equal((await clients.older.tasks.getTask(taskId)).taskId, taskId);
      }
    },
  },
];
