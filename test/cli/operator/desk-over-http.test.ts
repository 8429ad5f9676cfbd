/** The operator API over HTTP: requests, responses and errors. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { follow } from '../../../src/cli/operator/live-view.ts';
import {
  operatorOverHttp,
  ServerUnavailable,
  serverAddress,
} from '../../../src/cli/operator/operator-over-http.ts';
import { CommandFailed, WrongUsage } from '../../../src/cli/usage.ts';
import type { OperatorApi } from '../../../src/operator/api.ts';
import { OperatorServer, token } from './desk-server.ts';
import { killed, several, summary } from './stories.ts';

async function served(): Promise<{ server: OperatorServer; operator: OperatorApi }> {
  const server = await new OperatorServer().start();
  onTestFinished(() => server.stop().catch(() => {}));
  return { server, operator: operatorOverHttp({ base: server.url, token }) };
}

test.for([
  ['http://127.0.0.1:7420', 'http://127.0.0.1:7420', undefined],
  ['http://127.0.0.1:7420/', 'http://127.0.0.1:7420', undefined],
  ['http://127.0.0.1:7420/operator/#token=abc-_1', 'http://127.0.0.1:7420', 'abc-_1'],
  ['http://127.0.0.1:7420/operator/tasks/abc#token=t', 'http://127.0.0.1:7420', 't'],
  ['https://kelp.example/below/operator/', 'https://kelp.example/below', undefined],
])('%s is the address %s', ([given, base, token]) => {
  expect(serverAddress(given!)).toEqual({ base, token });
});

test.for(['127.0.0.1:7420', 'ftp://x', 'nowhere'])('%s is not an address', (given) => {
  expect(() => serverAddress(given)).toThrow(WrongUsage);
});

test('only the given filters are sent, in the form of the API', async () => {
  const { server, operator } = await served();
  await operator.list({ statuses: ['failed', 'lost'], tool: 'a&b', since: 5, limit: 3, cursor: 'c' });
  await operator.list({});
  await operator.count({ owner: 'é', text: 'x y' });
  expect(server.requests).toEqual([
    'GET /tasks?status=failed&status=lost&tool=a%26b&since=5&limit=3&cursor=c',
    'GET /tasks',
    'GET /count?owner=%C3%A9&text=x+y',
  ]);
});

test('actions are sent as JSON, with the token', async () => {
  const { server, operator } = await served();
  server.story = killed;
  const { id } = killed.task;
  expect(await operator.cancel(id, 'enough')).toEqual(killed.task);
  await operator.cancel(id);
  await operator.retry(id);
  await operator.answer(id, 'approval', { action: 'decline' });
  await operator.purge(id);
  expect(server.requests).toEqual([
    `POST /tasks/${id}/cancel {"reason":"enough"}`,
    `POST /tasks/${id}/cancel {}`,
    `POST /tasks/${id}/retry {}`,
    `POST /tasks/${id}/answer {"key":"approval","response":{"action":"decline"}}`,
    `POST /tasks/${id}/purge {}`,
  ]);
});

test('an id is always one segment of the path', async () => {
  const { server, operator } = await served();
  expect(await operator.details('../about?x=#')).toBeUndefined();
  expect(server.requests).toEqual(['GET /tasks/..%2Fabout%3Fx%3D%23']);
});

test('reading an unknown task gives undefined, and changing it is an error', async () => {
  const { operator } = await served();
  expect(await operator.details('none')).toBeUndefined();
  expect(await operator.result('none')).toBeUndefined();
  await expect(operator.cancel('none')).rejects.toThrow(CommandFailed);
});

test.for([
  [500, '{"error":{"message":"The log says\\u001b[2J why."}}', 'The log says why.', ServerUnavailable],
  [503, 'Bad gateway', 'answered with status 503', ServerUnavailable],
  [409, '{"error":{"message":"It is done."}}', 'It is done.', CommandFailed],
  [302, '', 'has no operator API', CommandFailed],
  [200, '<html>', 'has no operator API', CommandFailed],
  [200, '{"hello": 1}', 'has no operator API', CommandFailed],
] as const)('status %i with %s gives an error message', async ([status, body, words, type]) => {
  const { server, operator } = await served();
  server.answersWith = (response) =>
    response
      .writeHead(status, { location: 'https://elsewhere.example', 'content-type': 'application/json' })
      .end(body);
  const error = await operator.about().catch((error: unknown) => error);
  expect(error).toBeInstanceOf(type);
  expect((error as Error).message).toContain(words);
});

test('a redirect is not followed, because the token is only for this server', async () => {
  const asked: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  const { server, operator } = await served();
  server.answersWith = (response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${(other.address() as AddressInfo).port}/` }).end();
  await expect(operator.retry('x')).rejects.toThrow(CommandFailed);
  expect(asked).toEqual([]);
});

test('changes arrive as they happen, and resume after the last one received when the connection breaks', async () => {
  const { server, operator } = await served();
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const connection: string[] = [];
  const received: string[] = [];
  const following = (async () => {
    const signal = end.signal;
    for await (const message of follow(operator, {
      signal,
      onUnavailable: () => connection.push('unavailable'),
      onAvailable: () => connection.push('available'),
    }))
      received.push(`${message.type} ${message.id}`);
  })();
  await expect.poll(() => server.listeners).toBe(1);
  server.send({ type: 'changes', id: 'a-7', tasks: [summary()], subtasks: [], removed: [] });
  await expect.poll(() => received).toEqual(['changes a-7']);

  await server.stop();
  await expect.poll(() => connection).toEqual(['unavailable']);
  await server.start();
  await expect.poll(() => server.listeners).toBe(1);
  expect(connection).toEqual(['unavailable', 'available']);
  expect(server.requests.at(-1)).toBe('GET /changes  after a-7');
  server.send({ type: 'reset', id: 'b-1' });
  await expect.poll(() => received).toEqual(['changes a-7', 'reset b-1']);

  end.abort();
  await following;
});

test('a refused token is not retried', async () => {
  const { server } = await served();
  const stranger = operatorOverHttp({ base: server.url, token: 'wrong' });
  const following = (async () => {
    for await (const _ of follow(stranger, { signal: new AbortController().signal }));
  })();
  await expect(following).rejects.toThrow(CommandFailed);
  expect(server.requests).toHaveLength(1);
});

test('several pages are listed one after the other', async () => {
  const { server, operator } = await served();
  server.tasks = several;
  const first = await operator.list({ limit: 4 });
  const second = await operator.list({ limit: 4, cursor: first.nextCursor! });
  expect([...first.tasks, ...second.tasks]).toEqual(several);
  expect(second.nextCursor).toBeUndefined();
});
