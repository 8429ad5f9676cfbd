/** Access to the operator API: tokens, addresses and origins. */
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { createTasks } from 'holdfast';
import { OperatorHandler, serveHttp } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { logOf } from '../audit/log.ts';
import { withCode } from '../kit/with-code.ts';
import { ada, adasToken, operatorToken, send, stage } from './stage.ts';

const paths = [
  '/about',
  '/tasks',
  '/count',
  '/overview',
  '/changes',
  '/tasks/abc',
  '/tasks/abc/result',
  '/nowhere',
];

test.each([
  ['no token', {}],
  ['a wrong token', { authorization: 'Bearer operator-0123456789abcdeF' }],
  ['another scheme', { authorization: `Basic ${btoa(`operator:${operatorToken}`)}` }],
  ['a cookie', { cookie: `token=${operatorToken}` }],
])('with %s all requests are refused, and the audit log records it', async (_, headers) => {
  const { api, tasks } = await stage({ works: false });
  const { id } = await tasks.create('greet', { name: 'Ada' });
  for (const path of [...paths, `/tasks/${id}`]) {
    const answer = await send(api + path, { headers });
    expect(answer).toMatchObject({ status: 401, body: { error: { message: expect.any(String) } } });
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm=/);
  }
  for (const action of ['cancel', 'retry', 'answer', 'purge'])
    expect((await send(`${api}/tasks/${id}/${action}`, { method: 'POST', body: {}, headers })).status).toBe(
      401,
    );
  expect((await tasks.get(id))!.phase).toBe('queued');
  const denied = await logOf(tasks, { action: 'denied' });
  expect(denied[0]).toMatchObject({ owner: null, reason: 'Operator: no valid token (401).' });
});

test('a token in the URL is ignored', async () => {
  const { api } = await stage({ works: false });
  expect((await send(`${api}/about?token=${operatorToken}`)).status).toBe(401);
});

test('the operator sees all tasks, and a caller with a token of the server its own', async () => {
  const { ask } = await stage({ works: false });
  expect((await ask('/about')).body).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    now: expect.any(Number),
    tools: ['greet', 'approve', 'break', 'family', 'pay', 'line'],
    audit: true,
  });
  expect((await ask('/about', { token: adasToken })).body).toMatchObject({ owner: ada });
});

test('a server without tokens for callers only admits the operator', async () => {
  const { ask } = await stage({ works: false, http: { auth: undefined as never } });
  expect((await ask('/tasks')).status).toBe(200);
  expect((await ask('/tasks', { token: adasToken })).status).toBe(401);
  expect((await ask('/tasks', { token: undefined })).status).toBe(401);
});

test('another origin or host name is refused before the token is checked', async () => {
  const { ask } = await stage({ works: false });
  for (const headers of [
    { origin: 'https://elsewhere.example' },
    { origin: 'null' },
    { host: 'rebound.example' },
  ]) {
    expect(await ask('/tasks', { headers })).toMatchObject({
      status: 403,
      body: { error: { message: expect.any(String) } },
    });
    expect((await ask('/tasks/abc/cancel', { method: 'POST', body: {}, headers })).status).toBe(403);
  }
  expect((await ask('/tasks', { headers: { origin: 'http://localhost:1234' } })).status).toBe(200);
});

test('requests that an HTML form can send are refused', async () => {
  const { ask, tasks } = await stage({ works: false });
  const { id } = await tasks.create('greet', { name: 'Ada' });
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain', ''])
    expect(
      await ask(`/tasks/${id}/cancel`, { method: 'POST', text: '{}', headers: { 'content-type': type } }),
    ).toMatchObject({ status: 415 });
  expect((await tasks.get(id))!.phase).toBe('queued');
});

test('CORS preflight requests are refused', async () => {
  const { ask } = await stage({ works: false });
  const answer = await ask('/tasks', { method: 'OPTIONS' });
  expect(answer.status).toBe(405);
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
});

test('requests from a proxy or another machine are refused unless allowed', async () => {
  const here = await stage({ works: false });
  const signs = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];
  for (const sign of signs)
    expect((await here.ask('/about', { headers: { [sign]: '203.0.113.9' } })).status, sign).toBe(403);
  const there = await stage({
    works: false,
    http: { operator: { token: operatorToken, allowRemote: true } },
  });
  expect((await there.ask('/about', { headers: { 'x-forwarded-for': '203.0.113.9' } })).status).toBe(200);
});

test('an operator API that other machines can reach is refused at the start', async () => {
  await using tasks = createTasks({ store: () => openSqlite('memory:') });
  const serve = serveHttp(tasks, () => undefined as never, {
    host: '0.0.0.0',
    port: 0,
    operator: { token: operatorToken },
  });
  await expect(serve).rejects.toThrow(withCode('OPERATOR_EXPOSED'));
});

test('a token that can be guessed is refused at the start', async () => {
  await using tasks = createTasks({ store: () => openSqlite('memory:') });
  expect(() => new OperatorHandler(tasks, { operator: { token: 'secret' } })).toThrow(
    withCode('INVALID_TOKEN_OPTIONS'),
  );
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((one) => one && one.family === 'IPv4' && !one.internal)?.address;

test.runIf(outside)('a request that did not come from this machine itself gets 403', async () => {
  const tasks = createTasks({ store: () => openSqlite('memory:') });
  const handler = new OperatorHandler(tasks, {
    operator: { token: operatorToken },
    allowedHosts: [outside!],
  });
  const server = createServer(handler.node).listen(0, '0.0.0.0');
  onTestFinished(async () => {
    server.close();
    await tasks.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const { status } = await send(`http://${outside}:${port}/operator/api/about`, { token: operatorToken });
  expect(status).toBe(403);
});

test('a token that does not identify its bearer sees nothing', async () => {
  const { ask, tasks } = await stage({ works: false, owner: () => 'anonymous' });
  await tasks.create('greet', { name: 'Ada' }, { owner: 'anonymous' });
  expect((await ask('/tasks', { token: adasToken })).status).toBe(403);
});

test('the limits of callers apply here too, but not to the operator', async () => {
  const { ask } = await stage({ works: false, limits: { readsPerMinute: 3 } });
  const statuses = async (token: string) => {
    const answers: number[] = [];
    for (let n = 0; n < 5; n++) answers.push((await ask('/tasks', { token })).status);
    return answers;
  };
  expect(await statuses(adasToken)).toEqual([200, 200, 200, 429, 429]);
  expect(await statuses(operatorToken)).toEqual([200, 200, 200, 200, 200]);
});

test('the operator API is off by default', async () => {
  const { origin } = await stage({ works: false, http: { operator: undefined as never } });
  expect((await send(`${origin}/operator/`)).status).toBe(404);
  expect((await send(`${origin}/operator/api/about`, { token: operatorToken })).status).toBe(404);
});
