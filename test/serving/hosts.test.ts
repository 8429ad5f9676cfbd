/** One set of tools behind `McpHandler` on every host that people use. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve as serveHono } from '@hono/node-server';
import express from 'express';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTasks, type Tasks } from '../../src/index.ts';
import { McpHandler } from '../../src/server.ts';
import { sqlite } from '../../src/sqlite.ts';
import { attached } from '../kit/attached.ts';
import { Place, standing } from './place.ts';
import { accept, RawClient } from './raw-client.ts';
import { servingTools } from './tools.ts';

type Host = (handler: McpHandler) => Server;

const hosts: [string, Host][] = [
  ['node:http', (handler) => createServer(handler.node).listen(0, '127.0.0.1')],
  ['Express', (handler) => express().all('/mcp', handler.node).listen(0, '127.0.0.1')],
  [
    'Express that has parsed the body',
    (handler) => express().use(express.json()).all('/mcp', handler.node).listen(0, '127.0.0.1'),
  ],
  [
    'Hono',
    (handler) => {
      const { fetch } = new Hono().all('/mcp', (context) => handler.fetch(context.req.raw));
      return serveHono({ fetch, port: 0, hostname: '127.0.0.1' }) as Server;
    },
  ],
];

describe.each(hosts)('%s', (_, host) => {
  const place = new Place();
  let tasks: Tasks;
  let handler: McpHandler;
  let server: Server;
  let client: RawClient;
  let built = 0;
  beforeAll(async () => {
    tasks = createTasks({ store: sqlite(place.database), tools: servingTools, window: '1h' });
    await tasks.work();
    const factory = attached(tasks);
    handler = new McpHandler(tasks, () => {
      built++;
      return factory();
    });
    server = host(handler);
    if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
    client = new RawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  });
  afterAll(async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await tasks.close();
  });

  test('a task can be made, read and listened to until it ends', async () => {
    const { taskId } = (await client.call('ask', place.work('listened'))).result;
    expect((await client.get(taskId)).result).toMatchObject({ taskId, status: 'input_required' });
    const subscription = await client.listen([taskId]);
    expect(await subscription.next()).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
    expect(await subscription.next()).toMatchObject({ params: { taskId, status: 'input_required' } });
    await client.update(taskId, { name: accept({ name: 'Ada' }) });
    const end = await subscription.find(({ params }) => params?.status === 'completed');
    expect(end.params).toMatchObject({ taskId, result: { content: [{ text: 'Hello, Ada!' }] } });
    subscription.close();
    await expect.poll(() => handler.subscriptions).toBe(0);
  });

  test('a call within the window gets its plain result', async () => {
    const { result } = await client.call('at_once_auto');
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'at once' }] });
  });

  test('a connection that is closed within the window ends the work (S2026-04)', async () => {
    const { cut } = client.openCall('work_auto', place.work('cut'));
    await expect.poll(() => place.trace('cut')).toContain('second');
    cut();
    await expect.poll(() => place.trace('cut')).toEqual(['first', 'second', 'stopped']);
    expect(standing(place.tasks('work_auto'))).toEqual(['cancelled']);
  });

  test('tasks are made, read, answered and cancelled without a server of the SDK', async () => {
    built = 0;
    const { taskId } = (await client.call('work_always', place.work('direct'))).result;
    for (let turn = 0; turn < 5; turn++) await client.get(taskId);
    await client.update(taskId, {});
    await client.cancel(taskId);
    expect((await client.get(taskId)).result).toMatchObject({ status: 'cancelled' });
    expect(built).toBe(0);
    await client.call('at_once_auto');
    expect(built).toBe(1);
  });
});
