/** What attackers try first. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { McpHandler } from 'holdfast/server';
import { beforeAll, describe, expect, test } from 'vitest';
import { fixtureFactory, fixtureTasks, storeFrom } from '../../fixture/server.ts';
import { maxBodySize } from './byte-flaws.ts';
import { draftOf } from './draft.ts';
import { read } from './oracle.ts';
import { type Header, type Loose, request, textOf } from './requests.ts';
import { openScene, type Scene } from './scene.ts';
import { shooterAt } from './shots.ts';
import { withoutTasks } from './stage.ts';
import { StdioScene } from './stdio-scene.ts';
import { rawRequest } from './wire.ts';

describe('a page of another site', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  });

  /** Each as right as can be, and each able to do something. */
  const requests: [string, (taskId: string) => Loose][] = [
    ['tools/call', () => request(1, 'tools/call', { name: 'ask_name', arguments: {} })],
    [
      'tools/call of a plain tool',
      () => request(1, 'tools/call', { name: 'greet', arguments: { name: 'Eve' } }),
    ],
    ['tasks/get', (taskId) => request(1, 'tasks/get', { taskId })],
    ['tasks/cancel', (taskId) => request(1, 'tasks/cancel', { taskId })],
    [
      'subscriptions/listen',
      (taskId) => request(1, 'subscriptions/listen', { notifications: { taskIds: [taskId] } }),
    ],
    ['server/discover', () => request(1, 'server/discover')],
  ];

  async function attempt(
    message: Loose,
    headers: Record<string, string>,
    httpMethod = 'POST',
  ): Promise<Loose> {
    const draft = { ...draftOf(message), httpMethod };
    const others = draft.headers.filter(([name]) => headers[name] === undefined);
    draft.headers = [...others, ...Object.entries(headers)] as Header[];
    const answer = await scene.shooter.send(draft);
    return answer.kind === 'answered' ? { status: answer.status, ...read(answer) } : answer;
  }

  test.each(requests)(
    'that has its name point to this machine (DNS rebinding) gets nothing from %s',
    async (_, message) => {
      const before = await scene.published();
      for (const Host of ['evil.example', 'evil.example:7420', '127.0.0.1.evil.example']) {
        const headers = { Host, Origin: `http://${Host}` };
        for (const method of ['POST', 'GET', 'DELETE'])
          expect(await attempt(message(scene.facts.waiting.ask_name!), headers, method)).toMatchObject({
            status: 403,
            error: { message: expect.stringContaining('Host') },
          });
      }
      expect(await scene.published()).toEqual(before);
      expect(await scene.damage()).toEqual([]);
    },
  );

  test.each(requests)(
    'that names this machine itself is known by its Origin, and gets nothing from %s',
    async (_, message) => {
      const before = await scene.published();
      for (const Origin of ['https://evil.example', 'null', 'http://localhost.evil.example'])
        expect(await attempt(message(scene.facts.waiting.ask_name!), { Origin })).toMatchObject({
          status: 403,
          error: { message: expect.stringContaining('Origin') },
        });
      expect(await scene.published()).toEqual(before);
      expect(await scene.damage()).toEqual([]);
    },
  );

  test('cannot send what a form could send without asking', async () => {
    const message = request(1, 'tools/call', { name: 'ask_name', arguments: {} });
    const before = await scene.published();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect(await attempt(message, { 'Content-Type': type })).toMatchObject({ status: 415 });
    expect(await scene.published()).toEqual(before);
  });
});

describe('a client that goes away', () => {
  async function serving() {
    const tasks = fixtureTasks({ store: storeFrom('memory:') });
    await tasks.work();
    const faults: Error[] = [];
    const handler = new McpHandler(tasks, fixtureFactory(tasks), { onError: (error) => faults.push(error) });
    const server = createServer(handler.node).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    const shooter = shooterAt(port);
    return {
      port,
      shooter,
      faults,
      connections,
      listeners: async () => handler.subscriptions + (await tasks.requests()).watchers,
      [Symbol.asyncDispose]: async () => {
        shooter.close();
        server.close();
        server.closeAllConnections();
        await handler.close();
        await tasks.close();
      },
    };
  }

  async function opened(port: number, bytes: Buffer): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
    return socket;
  }

  const greeting = request(1, 'tools/call', { name: 'greet', arguments: { name: 'Ada' } });

  test('before its body is complete leaves no listener behind, and holds up nobody', async () => {
    await using place = await serving();
    const whole = rawRequest(draftOf(request(1, 'tools/call', { name: 'ask_name', arguments: {} })));
    const parts = [
      10,
      whole.indexOf('\r\n\r\n'),
      whole.indexOf('\r\n\r\n') + 4,
      whole.length - 40,
      whole.length - 1,
    ];
    const slow = await Promise.all(
      Array.from({ length: 50 }, (_, n) => opened(place.port, whole.subarray(0, parts[n % parts.length]))),
    );
    const answer = await place.shooter.post(greeting);
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('Hello, Ada!') });
    place.shooter.close();
    await expect.poll(place.connections).toBe(50);
    for (const socket of slow) socket.destroy();
    await expect.poll(place.connections).toBe(0);
    expect(await place.listeners()).toBe(0);
    expect(place.faults).toEqual([]);
  });

  test.each([
    [
      'that waits for a plain result',
      request(1, 'tools/call', { name: 'nap', arguments: { ms: 3_600_000 }, _meta: withoutTasks }),
    ],
    ['that listens to a task', undefined],
  ])('%s leaves no listener behind', async (_, given) => {
    await using place = await serving();
    const made = await place.shooter.post(request(1, 'tools/call', { name: 'ask_name', arguments: {} }));
    const { taskId } = read(made as { text: string }).result;
    const message = given ?? request(1, 'subscriptions/listen', { notifications: { taskIds: [taskId] } });
    const waiting = await Promise.all(
      Array.from({ length: 20 }, () => opened(place.port, rawRequest(draftOf(message)))),
    );
    await expect.poll(place.listeners).toBeGreaterThanOrEqual(20);
    for (const socket of waiting) socket.destroy();
    await expect.poll(place.listeners).toBe(0);
    expect(place.faults).toEqual([]);
  });
});

test('a body that is one byte too long is told so, and one that just fits is read', async () => {
  const scene = await openScene();
  const bodyOfLength = (length: number) => {
    const message = request(1, 'tools/call', { name: 'greet', arguments: { name: 'Ada', filler: '' } });
    message.params.arguments.filler = 'x'.repeat(length - textOf(message).length);
    return message;
  };
  expect(await scene.shooter.post(bodyOfLength(maxBodySize))).toMatchObject({ status: 200 });
  const refused = await scene.shooter.post(bodyOfLength(maxBodySize + 1));
  expect(refused).toMatchObject({ status: 413, text: expect.stringContaining(`${maxBodySize} bytes`) });
  expect(await scene.damage()).toEqual([]);
});

test('a line without end closes a stdio connection, and the server ends as it should', async () => {
  await using scene = await StdioScene.open();
  for (let megabytes = 0; megabytes < 12; megabytes++) scene.write(Buffer.alloc(2 ** 20, 'x'), '');
  expect(await scene.exit).toEqual({ code: 0, signal: null });
  expect(scene.strays).toEqual([]);
});
