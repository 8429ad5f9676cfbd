/** The desk of a server elsewhere: what is sent, what comes back, and what is said when nothing does. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { follow } from '../../../src/cli/operator/live-view.ts';
import { deskOverHttp, ServerAway, serverAddress } from '../../../src/cli/operator/operator-over-http.ts';
import { CommandFailed, WrongUsage } from '../../../src/cli/usage.ts';
import type { OperatorApi } from '../../../src/operator/api.ts';
import { DeskServer, token } from './desk-server.ts';
import { killed, several, summary } from './stories.ts';

async function served(): Promise<{ server: DeskServer; desk: OperatorApi }> {
  const server = await new DeskServer().start();
  onTestFinished(() => server.stop().catch(() => {}));
  return { server, desk: deskOverHttp({ base: server.url, token }) };
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

test.for(['127.0.0.1:7420', 'ftp://x', 'nowhere'])('%s is no address, and one is shown', (given) => {
  expect(() => serverAddress(given)).toThrow(WrongUsage);
});

test('filters travel as the API has them, and nothing that was not said', async () => {
  const { server, desk } = await served();
  await desk.list({ statuses: ['failed', 'lost'], tool: 'a&b', since: 5, limit: 3, cursor: 'c' });
  await desk.list({});
  await desk.count({ owner: 'é', text: 'x y' });
  expect(server.requests).toEqual([
    'GET /tasks?status=failed&status=lost&tool=a%26b&since=5&limit=3&cursor=c',
    'GET /tasks',
    'GET /count?owner=%C3%A9&text=x+y',
  ]);
});

test('what operators do travels as JSON, and the token with it', async () => {
  const { server, desk } = await served();
  server.story = killed;
  const { id } = killed.task;
  expect(await desk.cancel(id, 'enough')).toEqual(killed.task);
  await desk.cancel(id);
  await desk.retry(id);
  await desk.answer(id, 'approval', { action: 'decline' });
  await desk.purge(id);
  expect(server.requests).toEqual([
    `POST /tasks/${id}/cancel {"reason":"enough"}`,
    `POST /tasks/${id}/cancel {}`,
    `POST /tasks/${id}/retry {}`,
    `POST /tasks/${id}/answer {"key":"approval","response":{"action":"decline"}}`,
    `POST /tasks/${id}/purge {}`,
  ]);
});

test('an id is one part of a path, whatever is in it', async () => {
  const { server, desk } = await served();
  expect(await desk.details('../about?x=#')).toBeUndefined();
  expect(server.requests).toEqual(['GET /tasks/..%2Fabout%3Fx%3D%23']);
});

test('a task that is not there is undefined to those who look, and an error to those who act', async () => {
  const { desk } = await served();
  expect(await desk.details('none')).toBeUndefined();
  expect(await desk.result('none')).toBeUndefined();
  await expect(desk.cancel('none')).rejects.toThrow(CommandFailed);
});

test.for([
  [500, '{"error":{"message":"The log says\\u001b[2J why."}}', 'The log says why.', ServerAway],
  [503, 'Bad gateway', 'answered with status 503', ServerAway],
  [409, '{"error":{"message":"It is done."}}', 'It is done.', CommandFailed],
  [302, '', "has no operator's view", CommandFailed],
  [200, '<html>', "has no operator's view", CommandFailed],
  [200, '{"hello": 1}', "has no operator's view", CommandFailed],
] as const)('status %i with %s is told in a sentence', async ([status, body, words, type]) => {
  const { server, desk } = await served();
  server.answersWith = (response) =>
    response
      .writeHead(status, { location: 'https://elsewhere.example', 'content-type': 'application/json' })
      .end(body);
  const error = await desk.about().catch((error: unknown) => error);
  expect(error).toBeInstanceOf(type);
  expect((error as Error).message).toContain(words);
});

test('a redirection is not followed: the token is for this server alone', async () => {
  const asked: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  const { server, desk } = await served();
  server.answersWith = (response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${(other.address() as AddressInfo).port}/` }).end();
  await expect(desk.retry('x')).rejects.toThrow(CommandFailed);
  expect(asked).toEqual([]);
});

test('changes come as they happen, and after a break behind the last that was heard', async () => {
  const { server, desk } = await served();
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const happened: string[] = [];
  const heard: string[] = [];
  const following = (async () => {
    const signal = end.signal;
    for await (const message of follow(desk, {
      signal,
      onAway: () => happened.push('away'),
      onBack: () => happened.push('back'),
    }))
      heard.push(`${message.type} ${message.id}`);
  })();
  await expect.poll(() => server.listeners).toBe(1);
  server.tell({ type: 'changes', id: 'a-7', tasks: [summary()], subtasks: [], removed: [] });
  await expect.poll(() => heard).toEqual(['changes a-7']);

  await server.stop();
  await expect.poll(() => happened).toEqual(['away']);
  await server.start();
  await expect.poll(() => server.listeners).toBe(1);
  expect(happened).toEqual(['away', 'back']);
  expect(server.requests.at(-1)).toBe('GET /changes  after a-7');
  server.tell({ type: 'reset', id: 'b-1' });
  await expect.poll(() => heard).toEqual(['changes a-7', 'reset b-1']);

  end.abort();
  await following;
});

test('who is not let in does not try again', async () => {
  const { server } = await served();
  const stranger = deskOverHttp({ base: server.url, token: 'wrong' });
  const following = (async () => {
    for await (const _ of follow(stranger, { signal: new AbortController().signal }));
  })();
  await expect(following).rejects.toThrow(CommandFailed);
  expect(server.requests).toHaveLength(1);
});

test('several pages are listed one after the other', async () => {
  const { server, desk } = await served();
  server.tasks = several;
  const first = await desk.list({ limit: 4 });
  const second = await desk.list({ limit: 4, cursor: first.nextCursor! });
  expect([...first.tasks, ...second.tasks]).toEqual(several);
  expect(second.nextCursor).toBeUndefined();
});
