/** A client of ours at a hostile server, and what must be left of both when they part: nothing. */
import { createHook } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectTasksOptions, connectTasks, type TaskClient } from 'holdfast/client';
import { expect, onTestFinished } from 'vitest';
import { Counts } from '../../kit/counts.ts';
import { sdkClient } from '../../kit/sdk.ts';
import { HostileServer, type Revision, type Says, tasksOf2025, type Wire } from './server.ts';

/** Fast enough for tests, and slow enough to be counted. */
export const pace = { floorMs: 10, ceilingMs: 50, defaultMs: 20 };

const tasksOf2026 = { extensions: { 'io.modelcontextprotocol/tasks': {} }, tools: {}, resources: {} };

export async function meet(
  revision: Revision,
  says: Readonly<Record<string, Says>>,
  { capabilities, ...options }: ConnectTasksOptions & { readonly capabilities?: Wire } = {},
) {
  const before = resources();
  const agreed = revision === '2026-07-28' ? tasksOf2026 : tasksOf2025;
  const server = await new HostileServer(revision, says, { ...agreed, ...capabilities }).listen();
  let tasks: TaskClient | undefined;
  onTestFinished(async () => {
    await tasks?.close();
    await server.close();
    for (let looks = 0; looks < 500 && moreThan(before).length > 0; looks++) await pause(20);
    expect(moreThan(before)).toEqual([]);
  });
  const client = sdkClient(revision === '2026-07-28' ? 'auto' : 'legacy');
  const questions: string[] = [];
  tasks = await connectTasks(client, server.url, {
    registry: 'memory:',
    pace,
    // On a busy machine any answer may take a while: only tests of time-outs have short ones.
    requestTimeout: '20s',
    reconnectTimeout: '20s',
    answer: (question) => {
      questions.push(question.key);
      return { action: 'accept', content: { name: 'Kelp' } };
    },
    ...options,
  });
  return { server, tasks, questions };
}

const watched = ['TCPSocketWrap', 'TCPServerWrap', 'ProcessWrap'];

function resources(): Counts {
  const counts = new Counts();
  for (const kind of process.getActiveResourcesInfo()) if (watched.includes(kind)) counts.add(kind);
  return counts;
}

/** Timers that our sources or the SDK started and that have not ended, each with where it was started. */
const timers = new Map<number, string>();
createHook({
  init(id, type) {
    if (type !== 'Timeout') return;
    const from = /\n.*(?:\/src\/(?:client|requestor)\/|@modelcontextprotocol\/).*/.exec(
      new Error().stack ?? '',
    );
    if (from) timers.set(id, from[0].trim());
  },
  destroy: (id) => void timers.delete(id),
}).enable();

function moreThan(before: Counts): string[] {
  return [
    ...[...resources()]
      .filter(([kind, count]) => count > (before.get(kind) ?? 0))
      .map(([kind, count]) => `${count} of ${kind}, ${before.get(kind) ?? 0} before`),
    ...[...timers.values()].map((from) => `a timer started ${from}`),
  ];
}
