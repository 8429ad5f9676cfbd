/**
 * Tasks of 2025-11-25 outlive the client that started them, and the server: so does the session, under the same id.
 *
 * The SDK's first generation does not notice that the stream of a request has broken: the request stays open until its
 * time-out (a minute, unless told otherwise). Whoever asks again is served.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { until } from '../../chaos/until.ts';
import type { InteropCase } from '../case.ts';
import { ReplaceableFixture } from '../replaceable-fixture.ts';
import { says } from '../says.ts';
import { type ClientProcess, spawnClient } from '../spawn-client.ts';
import { connectSdkClient, type Question, resultOf, type SdkClient, start } from './sdk-client.ts';

const program = join(import.meta.dirname, 'sdk-process.ts');

function startElsewhere(url: URL, tool: string, input: object): ClientProcess {
  return spawnClient(program, url.href, 'start', tool, JSON.stringify(input));
}

async function resultElsewhere(url: URL, taskId: string): Promise<Record<string, unknown>> {
  const { line, gone } = spawnClient(program, url.href, 'result', taskId);
  await gone;
  return JSON.parse(await line);
}

/** A person who answers when the case says so, to a client that keeps its session while the server is replaced. */
interface Patient extends AsyncDisposable {
  readonly client: SdkClient;
  readonly transport: StreamableHTTPClientTransport;
  readonly questions: readonly (Question & { answer(answer: ElicitResult): void })[];
  /** What the server has heard: the methods of requests, and `answer` for each answer. */
  readonly heard: readonly string[];
}

async function connectPatient(url: URL): Promise<Patient> {
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
  const questions: Patient['questions'][number][] = [];
  const client = await connectSdkClient(transport, (question) => {
    const { promise, resolve } = Promise.withResolvers<ElicitResult>();
    questions.push({ ...question, answer: resolve });
    return promise;
  });
  return {
    client,
    transport,
    questions,
    heard,
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

const yes: ElicitResult = { action: 'accept', content: { confirm: true } };

export const sdkResuming: readonly InteropCase[] = [
  {
    title: 'SDK 1 in a second process: a task is looked at and waited for by its id',
    async run({ url }) {
      const first = startElsewhere(url, 'slow_compute', { seconds: 1.5, label: 'tides' });
      await first.gone;
      const { status, content } = await resultElsewhere(url, await first.line);
      // Whether it is still running depends on how long a process takes to start.
      ok(status === 'working' || status === 'completed', `It is ${status}.`);
      says({ content }, 'done tides');
    },
  },
  {
    title: 'SDK 1 in a second process: a question that the first was asked is asked again, and answered',
    async run({ url }) {
      await using first = await connectPatient(url);
      const taskId = await start(first.client, 'confirm_delete', { filename: 'notes.txt' });
      await until(() => first.questions.length === 1);
      await first.client[Symbol.asyncDispose]();
      const { asked, content } = await resultElsewhere(url, taskId);
      deepEqual(asked, ['Delete notes.txt?']);
      says({ content }, 'deleted notes.txt');
    },
  },
  {
    title:
      'SDK 1 over HTTP: a server killed under a blocked result is replaced, and asks its question once more',
    async run(world) {
      await using server = await ReplaceableFixture.open(world);
      await using patient = await connectPatient(server.url);
      const { client, transport, questions, heard } = patient;
      const { sessionId } = transport;
      const taskId = await start(client, 'confirm_delete', { filename: 'notes.txt' });
      const blocked = rejects(resultOf(client, taskId, { timeout: 3_000 }), { code: -32001 });
      await until(() => questions.length === 1 && heard.includes('tasks/result'));

      await server.replace();
      await blocked;
      const result = resultOf(client, taskId);
      await until(() => questions.length === 2);
      questions[1]!.answer(yes);
      says(await result, 'deleted notes.txt');
      equal(questions.length, 2);
      deepEqual([...new Set(questions.map(({ message }) => message))], ['Delete notes.txt?']);
      equal(transport.sessionId, sessionId);
      equal(heard.filter((method) => method === 'initialize').length, 1);
    },
  },
  {
    title:
      'SDK 1 over HTTP: an answer to a question of a killed server is not taken for one to another question',
    async run(world) {
      await using server = await ReplaceableFixture.open(world);
      await using patient = await connectPatient(server.url);
      const { client, questions, heard } = patient;
      await start(client, 'confirm_delete', { filename: 'old.txt' });
      await until(() => questions.length === 1);
      const taskId = await start(client, 'confirm_delete', { filename: 'precious.txt' });
      await until(() => questions.length === 2);

      await server.replace();
      const result = resultOf(client, taskId);
      await until(() => questions.length === 3);
      deepEqual([questions[0]!.message, questions[2]!.message], ['Delete old.txt?', 'Delete precious.txt?']);
      questions[0]!.answer(yes);
      await until(() => heard.includes('answer'));
      questions[2]!.answer({ action: 'decline' });
      says(await result, 'kept precious.txt');
    },
  },
];
