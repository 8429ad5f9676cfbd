/** `kill -9` of the server between the hand-over and the tools that go on from there. */
import { expect, test } from 'vitest';
import { Place } from '../serving/place.ts';
import { accept } from '../serving/raw-client.ts';
import { type HttpProcess, serveProgram } from '../serving/server-process.ts';
import { idIn } from './stage.ts';

const plain = { tasks: false, capabilities: {} };

function serve({ database: file }: Place, handOver = '200ms'): Promise<HttpProcess> {
  return serveProgram('hand-over/server.ts', JSON.stringify({ file, handOver }));
}

test('a task that was handed over goes on in the next process: task_wait, task_answer and the result are there, and no step runs twice', async () => {
  const place = Place.forTest();
  const { trace } = place.work();
  const first = await serve(place);
  const call = { topic: 'tides', restMs: 400, trace };
  const taskId = idIn((await first.client(plain).call('report', call)).result);
  await first.kill();

  const second = await serve(place);
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

  const third = await serve(place);
  const answers = { signature: accept({ name: 'Ada' }) };
  await third.client(plain).call('task_answer', { taskId, answers });
  await third.kill();

  const fourth = await serve(place);
  expect((await waited(fourth, 'completed')).structuredContent).toEqual({ topic: 'tides', signedBy: 'Ada' });
  expect(place.trace()).toEqual(['searched', 'signed']);
});

test('what had not been handed over ends with its server, as ever', async () => {
  const place = Place.forTest();
  const first = await serve(place, '1h');
  first.client(plain).openCall('held_auto', { word: 'tide' });
  await expect.poll(() => place.tasks().map(({ phase }) => phase)).toEqual(['running']);
  const [task] = place.tasks();
  await first.kill();

  const second = await serve(place);
  await expect.poll(() => place.tasks().map((one) => one.phase)).toEqual(['done']);
  const { result } = await second.client(plain).call('task_status', { taskId: task!.id });
  expect(result).toMatchObject({ isError: true });
});
