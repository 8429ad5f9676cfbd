/** Log messages that nobody reads are dropped, and the gap is reported. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { expect, test, vi } from 'vitest';
import { type LogMessage, LogStream } from '../../src/server/calls/call-log.ts';
import { McpHandler } from '../../src/server/http/handler.ts';
import { serveStdio } from '../../src/server/stdio.ts';
import { until } from '../kit/until.ts';
import { frames, headersOf, type Message, requestOf } from '../kit/wire.ts';
import { notes, openGateway, toy } from './stage.ts';

vi.setConfig({ testTimeout: 600_000 });

test('a stalled reader that an upstream floods gets the number of dropped messages and the result', async () => {
  const times = 16_000;
  const { file, lines } = notes();
  await using stage = await openGateway({ mcpServers: { toy }, plainClients: 'wait' });
  const messages = [{ level: 'info', data: 'x'.repeat(2_000) }];
  const response = await post(stage.url, 'say', { messages, times, done: file });
  response.pause();
  // More than the buffers of the system hold, so the gateway must drop some.
  await until(() => lines().includes('said'));
  const read = await eventsIn(response);
  const { logged, omitted } = logsIn(read);
  expect(omitted).toBeGreaterThan(0);
  expect(logged + omitted).toBe(times);
  expect(read.at(-1)).toMatchObject({ result: { content: [{ text: 'said' }] } });
});

test('a web stream buffers no more than the limits allow', async () => {
  const times = 4_000;
  const { file, lines } = notes();
  await using stage = await openGateway({ mcpServers: { toy }, plainClients: 'wait' });
  const handler = new McpHandler(stage.gateway.tasks, stage.gateway.serverFor);
  const size = 2_000;
  const call = callOf('say', { messages: [{ level: 'info', data: 'x'.repeat(size) }], times, done: file });
  const response = await handler.fetch(
    new Request(stage.url, {
      method: 'POST',
      headers: { ...headersOf('tools/call', { name: 'say' }), host: stage.url.host },
      body: JSON.stringify(call),
    }),
  );
  await until(() => lines().includes('said'));
  const read: Message[] = [];
  for await (const message of frames(response)) read.push(message);
  const { logged, omitted } = logsIn(read);
  expect(logged + omitted).toBe(times);
  // Both buffers, and one message more for each.
  expect(logged).toBeLessThanOrEqual((65_536 + 1_048_576) / size + 2);
  expect(read.at(-1)).toMatchObject({ result: { content: [{ text: 'said' }] } });
  await handler.close();
});

test('on stdio no more is written than the reader takes', async () => {
  await using stage = await openGateway({ mcpServers: { toy }, plainClients: 'wait' });
  const pipe = new StuckPipe();
  const server = serveStdio(stage.gateway.tasks, stage.gateway.serverFor, {
    transport: pipe,
    stopOn: [],
  });
  const messages = [{ level: 'info', data: 'a wave' }];
  pipe.receive(callOf('say', { messages, times: 5_000 }));
  await until(() => pipe.sent.some((message) => 'result' in message));
  const logged = pipe.sent.filter((message) => 'method' in message);
  // The stuck message, the buffered ones, and the report of the gap.
  expect(logged.length).toBeLessThanOrEqual(1_002);
  expect(logged.at(-1)).toMatchObject({
    params: { logger: 'holdfast', data: expect.stringMatching(/log messages were dropped/) },
  });
  await server.stop();
});

test('the buffer is bounded by size too, and each gap is reported once', async () => {
  const sent: LogMessage[] = [];
  let isStuck = true;
  const { promise: unstuck, resolve } = Promise.withResolvers<void>();
  const stream = new LogStream(
    async (message) => void sent.push(message),
    async () => (isStuck ? unstuck : undefined),
  );
  const large = { level: 'info', data: 'x'.repeat(400_000) } as const;
  for (let n = 0; n < 10; n++) stream.write(large);
  await until(() => sent.length === 2);
  isStuck = false;
  resolve();
  await until(() => sent.length === 3);
  stream.write({ level: 'info', data: 'calm again' });
  await until(() => sent.length === 4);
  expect(sent.slice(0, 2)).toEqual([large, large]);
  expect(sent[2]!.data).toBe('8 log messages were dropped here: they came faster than they were read.');
  expect(sent[3]!.data).toBe('calm again');
});

function callOf(name: string, input: object) {
  const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
  return requestOf(1, 'tools/call', { name, arguments: input, _meta }, {});
}

/** A call over HTTP whose answer the test reads at its own pace. */
async function post(url: URL, name: string, input: object): Promise<IncomingMessage> {
  const headers = headersOf('tools/call', { name });
  const sent = request(url, { method: 'POST', headers });
  sent.end(JSON.stringify(callOf(name, input)));
  const [response] = await once(sent, 'response');
  return response;
}

function logsIn(read: readonly Message[]): { readonly logged: number; readonly omitted: number } {
  const all = read.filter(({ method }) => method === 'notifications/message').map(({ params }) => params);
  const omissions = all.filter(({ logger }) => logger === 'holdfast');
  const omitted = omissions.reduce((sum, { data }) => sum + Number(/^\d+/.exec(String(data))), 0);
  return { logged: all.length - omissions.length, omitted };
}

async function eventsIn(response: IncomingMessage) {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Message);
}

/** A pipe whose reader takes the first log message and then stalls. */
class StuckPipe implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly sent: JSONRPCMessage[] = [];

  async start(): Promise<void> {}

  async close(): Promise<void> {
    this.onclose?.();
  }

  receive(message: object): void {
    this.onmessage?.(message as JSONRPCMessage);
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.sent.push(message);
    return 'method' in message ? new Promise(() => {}) : Promise.resolve();
  }
}
