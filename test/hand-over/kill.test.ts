/** `kill -9` of the server between the hand-over and the tools that go on from there. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readJournal } from '../../src/engine/replay/journal.ts';
import type { Duration } from '../../src/index.ts';
import { untilEnd } from '../kit/lifetime.ts';
import { Program, sources } from '../kit/process.ts';
import { queryFile } from '../kit/sqlite.ts';
import { textOf } from '../kit/text.ts';
import { Place, standing } from '../serving/place.ts';
import { accept, callParams, rawMessage } from '../serving/raw-client.ts';
import { type HttpProcess, type StdioProcess, serve, serveOnStdio } from '../serving/server-process.ts';
import { idIn } from './stage.ts';

const plain = { tasks: false, capabilities: {} };
const token = 'ada-has-a-token-that-nobody-guesses';

const program = `${import.meta.dirname}/../serving/server.ts`;

function settingsOf({ database: file }: Place, handOver: Duration = '1h') {
  return { tools: 'hand-over', file, handOver } as const;
}

function serveAt(place: Place, handOver: Duration = '200ms'): Promise<HttpProcess> {
  return serve(settingsOf(place, handOver));
}

/** Resolves when the step is recorded in the journal. Until then a restarted server rightly runs it again. */
async function stepRecorded(place: Place, name: string): Promise<void> {
  const recorded = () => {
    const rows = queryFile(
      place.database,
      'select journal from commits where journal is not null order by version',
    );
    const { calls, entries } = readJournal(rows.flatMap(({ journal }) => JSON.parse(String(journal))));
    return entries.map(({ call }) => calls[call]!.name);
  };
  await expect.poll(recorded).toContain(name);
}

test('a handed-over task resumes in the next process: task_wait, task_answer and the result work, and no step runs twice', async () => {
  const place = new Place();
  const { trace } = place.work();
  const first = await serveAt(place);
  const call = { topic: 'tides', restMs: 400, trace };
  const taskId = idIn((await first.client(plain).call('report', call)).result);
  await stepRecorded(place, 'searched');
  await first.kill();

  const second = await serveAt(place);
  const waited = async (server: HttpProcess, status: string) => {
    for (;;) {
      const { result } = await server.client(plain).call('task_wait', { taskId });
      const standing = result.structuredContent as { status?: string };
      if (standing.status === status || standing.status === undefined) return result;
    }
  };
  expect((await waited(second, 'input_required')).structuredContent).toMatchObject({
    questions: [{ key: 'signature' }],
  });
  await second.kill();

  const third = await serveAt(place);
  const answers = { signature: accept({ name: 'Ada' }) };
  await third.client(plain).call('task_answer', { taskId, answers });
  await stepRecorded(place, 'signed');
  await third.kill();

  const fourth = await serveAt(place);
  expect((await waited(fourth, 'completed')).structuredContent).toEqual({ topic: 'tides', signedBy: 'Ada' });
  expect(place.trace()).toEqual(['searched', 'signed']);
});

/** Resolves when the step is recorded, and not only done. */
async function firstStepIn(place: Place): Promise<void> {
  await expect.poll(() => place.tasks().map(({ version }) => version > 1)).toEqual([true]);
  expect(place.trace()).toEqual(['first']);
}

test('a plain call with a token survives kill -9 of its server: sent again, it gets the result, and no finished step runs twice', async () => {
  const place = new Place();
  const start = () => serve({ ...settingsOf(place), tokens: { [token]: 'ada' } });
  const first = await start();
  first.client({ ...plain, token }).openCall('steps', place.work());
  await firstStepIn(place);
  await first.kill();

  const second = await start();
  const again = second.client({ ...plain, token }).call('steps', place.work());
  place.open();
  expect(textOf((await again).result)).toBe('both');
  expect(place.trace()).toEqual(['first', 'second']);
  await expect.poll(() => place.tasks()).toEqual([]);
});

test.each([
  ['its server is killed', (server: HttpProcess) => server.kill()],
  ['its client leaves', async (_: HttpProcess, cut: () => void) => cut()],
])('an answer that is not written to its end when %s counts as lost', async (_, lose) => {
  const place = new Place();
  const start = () => serve({ ...settingsOf(place), tokens: { [token]: 'ada' } });
  const { trace } = place.work();
  const first = await start();
  const { response, cut } = first
    .client({ ...plain, token })
    .post('tools/call', callParams('large', { trace }));
  // The client reads the head of the answer, and no more.
  await response;
  await lose(first, cut);
  await expect.poll(() => standing(place.tasks())).toEqual(['result']);

  const second = await start();
  const isLost = () => queryFile(place.database, 'select 1 from tasks where answering is null').length === 1;
  if (!first.child.killed) await expect.poll(isLost).toBe(true);
  const { result } = await second.client({ ...plain, token }).call('large', { trace });
  expect(textOf(result)).toHaveLength(15_000_000);
  expect(place.trace()).toEqual(['ran']);
  await expect.poll(() => place.tasks()).toEqual([]);
});

test('a plain call over stdio survives kill -9 of its server, whose successor goes on without being asked', async () => {
  const place = new Place();
  const settings = { ...settingsOf(place), stdio: true };
  const connect = async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ['--conditions=holdfast-source', program, JSON.stringify(settings)],
    });
    const client = new Client({ name: 'plain', version: '1' });
    await client.connect(transport);
    onTestFinished(() => client.close());
    const call = () => client.callTool({ name: 'steps', arguments: place.work() });
    return { call, kill: () => process.kill(transport.pid!, 'SIGKILL') };
  };
  const first = await connect();
  const lost = first.call();
  await firstStepIn(place);
  first.kill();
  await expect(lost).rejects.toThrow();

  const second = await connect();
  place.open();
  await expect.poll(() => standing(place.tasks())).toEqual(['result']);
  expect(textOf(await second.call())).toBe('both');
  expect(place.trace()).toEqual(['first', 'second']);
  await expect.poll(() => place.tasks()).toEqual([]);
});

test('what had not been handed over and nobody can join ends with its server, as ever', async () => {
  const place = new Place();
  const first = await serveAt(place, '1h');
  first.client(plain).openCall('held_auto', { word: 'tide' });
  await expect.poll(() => place.tasks().map(({ phase }) => phase)).toEqual(['running']);
  const [task] = place.tasks();
  await first.kill();

  const second = await serveAt(place);
  await expect.poll(() => place.tasks().map((one) => one.phase)).toEqual(['done']);
  const { result } = await second.client(plain).call('task_status', { taskId: task!.id });
  expect(result).toMatchObject({ isError: true });
});

test('over stdio a call of 2025-11-25 that its client cancels ends, and is not joined', async () => {
  const place = new Place();
  const server = new Program(sources(program, JSON.stringify({ ...settingsOf(place), stdio: true })));
  onTestFinished(async () => void (await server.kill()));
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
  server.tell({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  await server.line();
  server.tell({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const call = { name: 'steps', arguments: place.work() };
  server.tell({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call });
  await firstStepIn(place);
  server.tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  await expect.poll(() => standing(place.tasks())).toEqual(['cancelled']);
  place.open();
  server.tell({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: call });
  expect(JSON.parse(await server.line())).toMatchObject({ id: 3, result: { content: [{ text: 'both' }] } });
  expect(place.trace()).toEqual(['first', 'first', 'second']);
});

describe('over stdio on 2026-07-28', () => {
  const start = (place: Place) => serveOnStdio(settingsOf(place), plain);

  /** Its input stays open: the server learns only by writing that nobody reads. */
  const stopReading = (server: StdioProcess) => {
    server.child.stdout!.destroy();
    server.lines.close();
  };

  test.each([
    ['a client that goes away', (server: StdioProcess) => server.end()],
    ['a server that is stopped', (server: StdioProcess) => server.kill('SIGTERM')],
    ['a server that is killed', (server: StdioProcess) => server.kill()],
  ])('%s cancels nothing: the same call joins the work in the next process', async (_, leave) => {
    const place = new Place();
    const first = start(place);
    first.client.call('steps', place.work());
    await firstStepIn(place);
    await leave(first);
    expect(standing(place.tasks())).toEqual(['running']);

    const second = start(place);
    const again = second.client.request('tools/call', { name: 'steps', arguments: place.work() });
    place.open();
    expect(textOf((await again).result)).toBe('both');
    expect(place.trace()).toEqual(['first', 'second']);
  });

  test('an answer that could not be written counts as lost', async () => {
    const place = new Place();
    const first = start(place);
    first.client.call('steps', place.work());
    await firstStepIn(place);
    stopReading(first);
    place.open();
    await first.exit;
    expect(standing(place.tasks())).toEqual(['result']);

    const second = start(place);
    const again = await second.client.request('tools/call', { name: 'steps', arguments: place.work() });
    expect(textOf(again.result)).toBe('both');
    expect(place.trace()).toEqual(['first', 'second']);
  });

  test('an answer that waits for a client that reads nothing is not delivered', async () => {
    const place = new Place();
    const { trace } = place.work();
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    const first = untilEnd(
      new Program(sources(program, JSON.stringify({ ...settingsOf(place), stdio: true }))),
    );
    first.child.stdout!.pause();
    for (const number of numbers)
      first.tell(rawMessage('tools/call', callParams('page', { trace, number }), plain));
    await expect.poll(() => place.trace().length).toBe(numbers.length);
    // Those in the pipe are delivered, and their tasks removed.
    await expect.poll(() => place.tasks().length).toBeLessThan(numbers.length);
    await expect.poll(() => standing(place.tasks()).every((one) => one === 'result')).toBe(true);
    first.signal('SIGKILL');
    first.child.stdout!.resume();
    await first.exit;
    // The last line may have broken off.
    const read = [...first.output.matchAll(/Page (\d+): x+"}.*\n/g)].map(([, number]) => Number(number));
    const unread = numbers.filter((number) => !read.includes(number));
    expect(unread).not.toEqual([]);

    const second = start(place);
    for (const number of unread)
      await second.client.request('tools/call', { name: 'page', arguments: { trace, number } });
    expect(
      place
        .trace()
        .map(Number)
        .toSorted((a, b) => a - b),
    ).toEqual(numbers);
  });

  test('a call that asked is joined, too: a pipe is one session', async () => {
    const place = new Place();
    const input = { topic: 'tides', restMs: 300, trace: place.work().trace };
    const first = start(place);
    first.client.call('report', input);
    await expect.poll(() => place.trace()).toEqual(['searched']);
    stopReading(first);
    await first.exit;
    const [task] = place.tasks();
    expect(standing(place.tasks())).toEqual(['waiting']);

    const second = start(place);
    const again = await second.client.request('tools/call', { name: 'report', arguments: input });
    expect(idIn(again.result)).toBe(task!.id);
    expect(place.tasks()).toHaveLength(1);
  });
});

describe('on 2026-07-28 over HTTP, a call with a token that asked', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'survives %s of its server in every round, and continues with its request state',
    async (signal) => {
      const place = new Place();
      const start = () => serve({ ...settingsOf(place), tokens: { [token]: 'ada' }, grace: '100ms' });
      const client = (server: HttpProcess) =>
        server.client({ tasks: false, capabilities: { elicitation: {} }, token });
      const input = { topic: 'tides', restMs: 1_500, trace: place.work().trace };
      const first = await start();
      const { requestState } = (await client(first).call('report', input)).result;
      await first.kill(signal);

      const answer = { requestState, inputResponses: { signature: accept({ name: 'Ada' }) } };
      const second = await start();
      client(second).openCall('report', input, answer);
      await expect.poll(() => place.trace()).toEqual(['searched', 'signed']);
      // The step is recorded: the task sleeps after it.
      await expect.poll(() => place.tasks().map((task) => 'worker' in task)).toEqual([false]);
      await second.kill(signal);

      const third = await start();
      const { result } = await client(third).call('report', input, answer);
      expect(result.structuredContent).toEqual({ topic: 'tides', signedBy: 'Ada' });
      expect(place.trace()).toEqual(['searched', 'signed']);
    },
  );
});
