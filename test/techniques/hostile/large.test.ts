/** Answers that are too large to be taken. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MalformedAnswer } from 'holdfast/client';
import { describe, expect, test } from 'vitest';
import { meet } from './meeting.ts';
import { completed, Raw } from './server.ts';

const megabyte = 1024 * 1024;
const sent = 50 * megabyte;
const chunk = Buffer.alloc(megabyte / 4, 'x');

async function pour(response: ServerResponse, piece: Buffer, before = '', after = ''): Promise<void> {
  function* pieces() {
    yield before;
    for (let size = 0; size < sent; size += piece.length) yield piece;
    yield after;
  }
  await pipeline(Readable.from(pieces()), response);
}

const opening = (id: unknown) =>
  `{"jsonrpc":"2.0","id":"${id}","result":{"resultType":"complete","taskId":"root","status":"completed","result":{"content":[{"type":"text","text":"`;

const ways: readonly [string, string, (response: ServerResponse, id: unknown) => Promise<void>][] = [
  ['as JSON', 'application/json', (response, id) => pour(response, chunk, opening(id), '"}]}}}')],
  [
    'as an event',
    'text/event-stream',
    (response, id) => pour(response, chunk, `data: ${opening(id)}`, '"}]}}}\n\n'),
  ],
  [
    'as an event in many lines',
    'text/event-stream',
    (response) =>
      pour(response, Buffer.from('data: "xxxxxxxxxxxxxxxxxxxxxxxxxx",\r\n'.repeat(4_096)), 'data: [\r\n'),
  ],
];

describe('an answer of 50 MB', () => {
  test.each(ways)('%s is refused when it gets larger than a host takes', async (_, type, write) => {
    const { tasks, server } = await meet(
      '2026-07-28',
      {
        'tasks/get': ({ id }) =>
          new Raw((response) => {
            response.setHeader('content-type', type);
            write(response, id).catch(() => {});
          }),
      },
      { maxResponseSize: megabyte },
    );
    const before = process.memoryUsage().rss;
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MalformedAnswer);
    expect((error as Error).message).toBe(
      `The server broke the protocol: an answer is larger than ${megabyte} bytes.`,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(48 * megabyte);
    expect(server.count('tasks/get')).toBe(1);
  });
});

test('many events on one stream may be larger together', async () => {
  const { tasks } = await meet(
    '2026-07-28',
    {
      'tasks/get': ({ id }) =>
        new Raw((response) => {
          response.setHeader('content-type', 'text/event-stream');
          const words = {
            method: 'notifications/message',
            params: { level: 'info', data: 'x'.repeat(20_000) },
          };
          const event = (ending: string) =>
            `data: ${JSON.stringify({ jsonrpc: '2.0', ...words })}${ending}${ending}`;
          for (let n = 0; n < 50; n++) response.write(event(['\n', '\r\n', '\r'][n % 3]!));
          response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: completed('root') })}\n\n`);
        }),
    },
    { maxResponseSize: 100_000 },
  );
  expect(await tasks.callTool({ name: 't' })).toBeTruthy();
});

test('results of a whole tree count together', async () => {
  const result = { resultType: 'complete', content: [{ type: 'text', text: 'x'.repeat(1_000) }] };
  const { tasks } = await meet(
    '2026-07-28',
    {
      'tasks/get': ({ params: { taskId } }) =>
        taskId === 'root'
          ? { ...completed('root', result), childTaskIds: ['a', 'b', 'c'] }
          : completed(taskId, result),
    },
    { drafts: 'all', maxResultSize: 3_000 },
  );
  await expect(tasks.callTool({ name: 't' })).rejects.toThrow(MalformedAnswer);
});

test('a direct result counts too', async () => {
  const { tasks } = await meet(
    '2026-07-28',
    { 'tools/call': () => ({ resultType: 'complete', content: ['x'.repeat(1_000)] }) },
    { maxResultSize: 500 },
  );
  await expect(tasks.callTool({ name: 't' })).rejects.toThrow(MalformedAnswer);
});
