/**
 * Tasks of 2025-11-25 outlive the client that started them, and the server: so does the session, under the same id.
 *
 * The SDK's first generation does not notice that the stream of a request has broken: the request stays open until its
 * time-out (a minute, unless told otherwise). Whoever asks again is served.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { until } from '../../../kit/until.ts';
import { type InteropCases, says } from '../case.ts';
import { resumeElsewhere } from '../client-process.ts';
import { connectSdkClient, type Question } from './sdk-client.ts';

/** A person who answers when the case says so, to a client that keeps its session while the server is replaced. */
async function connectPatient(url: URL) {
  /** What the server has heard: the methods of requests, and `answer` for each answer. */
  const heard: string[] = [];
  const transport = new StreamableHTTPClientTransport(url, {
    // A restarted server takes longer than the two attempts that are made by default.
    reconnectionOptions: {
      initialReconnectionDelay: 100,
      maxReconnectionDelay: 100,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 200,
    },
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (typeof init?.body === 'string') heard.push(JSON.parse(init.body).method ?? 'answer');
      return response;
    },
  });
  const questions: (Question & { answer(answer: ElicitResult): void })[] = [];
  const client = await connectSdkClient(transport, (question) => {
    const { promise, resolve } = Promise.withResolvers<ElicitResult>();
    questions.push({ ...question, answer: resolve });
    return promise;
  });
  return { ...client, transport, questions, heard };
}

const yes: ElicitResult = { action: 'accept', content: { confirm: true } };

export const sdkResuming: InteropCases = {
  async 'SDK 1 in a second process: a task is looked at and waited for by its id'(world) {
    const url = await world.url;
    const client = await connectSdkClient(new StreamableHTTPClientTransport(url));
    const taskId = await client.start('slow_compute', { seconds: 1.5, label: 'tides' });
    await client[Symbol.asyncDispose]();
    const resumed = await resumeElsewhere(url, 'SDK 1', taskId);
    // Whether it is still running depends on how long a process takes to start.
    ok(['working', 'completed'].includes(resumed.status!), `It is ${resumed.status}.`);
    says(resumed, 'done tides');
  },
  async 'SDK 1 in a second process: a question that the first was asked is asked again, and answered'(world) {
    const url = await world.url;
    const first = await connectPatient(url);
    const taskId = await first.start('confirm_delete', { filename: 'notes.txt' });
    await until(() => first.questions.length === 1);
    await first[Symbol.asyncDispose]();
    const resumed = await resumeElsewhere(url, 'SDK 1', taskId);
    deepEqual(resumed.asked, ['Delete notes.txt?']);
    says(resumed, 'deleted notes.txt');
  },
  async 'SDK 1 over HTTP: a server killed under a blocked result is replaced, and asks its question once more'(
    world,
  ) {
    await using server = await world.lasting();
    await using client = await connectPatient(server.url);
    const { transport, questions, heard } = client;
    const { sessionId } = transport;
    const taskId = await client.start('confirm_delete', { filename: 'notes.txt' });
    const blocked = rejects(client.result(taskId, { timeout: 3_000 }), { code: -32001 });
    await until(() => questions.length === 1 && heard.includes('tasks/result'));

    await server.kill();
    await server.start();
    await blocked;
    const result = client.result(taskId);
    await until(() => questions.length === 2);
    questions[1]!.answer(yes);
    says(await result, 'deleted notes.txt');
    equal(questions.length, 2);
    deepEqual([...new Set(questions.map(({ message }) => message))], ['Delete notes.txt?']);
    equal(transport.sessionId, sessionId);
    equal(heard.filter((method) => method === 'initialize').length, 1);
  },
  async 'SDK 1 over HTTP: an answer to a question of a killed server is not taken for one to another question'(
    world,
  ) {
    await using server = await world.lasting();
    await using client = await connectPatient(server.url);
    const { questions, heard } = client;
    await client.start('confirm_delete', { filename: 'old.txt' });
    await until(() => questions.length === 1);
    const taskId = await client.start('confirm_delete', { filename: 'precious.txt' });
    await until(() => questions.length === 2);

    await server.kill();
    await server.start();
    const result = client.result(taskId);
    await until(() => questions.length === 3);
    deepEqual([questions[0]!.message, questions[2]!.message], ['Delete old.txt?', 'Delete precious.txt?']);
    questions[0]!.answer(yes);
    await until(() => heard.includes('answer'));
    questions[2]!.answer({ action: 'decline' });
    says(await result, 'kept precious.txt');
  },
};
