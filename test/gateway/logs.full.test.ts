/** Log messages of upstreams reach the clients that request them, and no others. */
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type LoggingUpstream, SessionLogs, UpstreamLogs } from '../../src/gateway/upstream/logs.ts';
import { UpstreamCall } from '../../src/gateway/upstream/upstream-call.ts';
import { ServerProcess } from '../kit/server-process.ts';
import { textOf } from '../kit/text.ts';
import { until } from '../kit/until.ts';
import { toyProcess } from './processes.ts';
import { notes, openGateway, type Stage, toy } from './stage.ts';

vi.setConfig({ testTimeout: 600_000 });

const logLevelKey = 'io.modelcontextprotocol/logLevel';
const modernToy = {
  ...toy,
  args: [...toy.args.slice(0, -1), join(import.meta.dirname, 'servers/modern-toy.ts')],
};

/** Upstreams of both revisions on both transports. */
const upstreams = [
  ['2025-11-25 on stdio', async () => toy],
  ['2025-11-25 over HTTP', () => overHttp(toyProcess())],
  ['2026-07-28 on stdio', async () => modernToy],
  ['2026-07-28 over HTTP', () => overHttp(modernProcess())],
] as const;

function modernProcess(): ServerProcess {
  const { command, args } = modernToy;
  return new ServerProcess((port) => [command, ...args, '--port', port]);
}

async function overHttp(upstream: ServerProcess) {
  onTestFinished(() => upstream[Symbol.asyncDispose]());
  return { url: (await upstream.start()).url.href };
}

interface Log {
  readonly level: string;
  readonly logger?: string;
  readonly data: unknown;
}

/** A client of the SDK, and the log messages that it receives. */
async function connect(to: Stage | StdioClientTransport, mode: 'auto' | 'legacy') {
  const client = new Client({ name: 'reader', version: '1' }, { versionNegotiation: { mode } });
  const received: Log[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void received.push(params as Log));
  await client.connect('url' in to ? new StreamableHTTPClientTransport(to.url) : to);
  const call = async (name: string, input: object, level?: string) => {
    const _meta = level === undefined ? {} : { _meta: { [logLevelKey]: level } };
    const result = await client.callTool({ name, arguments: { ...input }, ..._meta } as never);
    return textOf(result as Record<string, unknown>);
  };
  return {
    client,
    received,
    call,
    log: (messages: readonly Log[], level?: string, more: object = {}) =>
      call('say', { messages, ...more }, level),
    [Symbol.asyncDispose]: async () => {
      await (client.transport as { terminateSession?(): Promise<void> }).terminateSession?.();
      await client.close();
    },
  };
}

type Reader = Awaited<ReturnType<typeof connect>>;

/** On HTTP a session opens its stream for log messages concurrently with other requests. */
async function untilItReceives({ received, log }: Reader): Promise<void> {
  while (received.length === 0) {
    await log([{ level: 'emergency', data: 'are you there?' }]);
    await until(() => received.length > 0, 500).catch(() => {});
  }
}

const all: readonly Log[] = [
  { level: 'debug', data: 'low water' },
  { level: 'info', logger: 'tide', data: 'rising' },
  { level: 'warning', logger: 'tide', data: { metres: 7, at: ['Brest', null] } },
  { level: 'alert', data: 'high water' },
];

/** The received messages without the probes of `untilItReceives`. */
const withoutProbes = ({ received }: Reader) => received.filter(({ level }) => level !== 'emergency');

describe.each(upstreams)('with an upstream of %s', (_, open) => {
  test('a session receives messages from its own level up, by default from info', async () => {
    await using stage = await openGateway({ mcpServers: { toy: await open() } });
    await using usual = await connect(stage, 'legacy');
    await using keen = await connect(stage, 'legacy');
    await using calm = await connect(stage, 'legacy');
    await keen.client.setLoggingLevel('debug');
    await calm.client.setLoggingLevel('error');
    for (const reader of [usual, keen, calm]) await untilItReceives(reader);
    await usual.log(all);
    await until(() => [usual, keen, calm].every(({ received }) => received.at(-1)?.data === 'high water'));
    const [debug, info, warning, alert] = [
      { level: 'debug', logger: 'toy', data: 'low water' },
      all[1],
      all[2],
      { level: 'alert', logger: 'toy', data: 'high water' },
    ];
    expect(withoutProbes(keen)).toEqual([debug, info, warning, alert]);
    expect(withoutProbes(usual)).toEqual([info, warning, alert]);
    expect(withoutProbes(calm)).toEqual([alert]);
  });

  test('a call of 2026-07-28 receives the messages from the level that it names up, and none without a level', async () => {
    await using stage = await openGateway({ mcpServers: { toy: await open() } });
    await using reader = await connect(stage, 'auto');
    expect(reader.client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(await reader.log(all)).toBe('said');
    expect(reader.received).toEqual([]);
    // They are on the stream of the answer, before it.
    expect(await reader.log(all, 'notice')).toBe('said');
    expect(reader.received).toEqual([all[2], { level: 'alert', logger: 'toy', data: 'high water' }]);
    reader.received.length = 0;
    await reader.log(all, 'debug');
    expect(reader.received).toHaveLength(4);
  });
});

test.each([
  ['2025-11-25', toy],
  ['2026-07-28', modernToy],
])('log messages of calls that wait for a slot arrive too, with an upstream of %s', async (_, server) => {
  await using stage = await openGateway({ mcpServers: { toy: { ...server, concurrency: 1 } } });
  await using reader = await connect(stage, 'auto');
  await reader.log(all, 'alert');
  expect(reader.received).toEqual([{ level: 'alert', logger: 'toy', data: 'high water' }]);
});

test('with several upstreams the names of loggers contain that of the upstream', async () => {
  await using stage = await openGateway({ mcpServers: { old: toy, young: modernToy } });
  await using reader = await connect(stage, 'auto');
  const messages = all.slice(0, 2);
  for (const name of ['old_say', 'young_say']) await reader.call(name, { messages }, 'debug');
  expect(reader.received.map(({ logger }) => logger)).toEqual(['old', 'old/tide', 'young', 'young/tide']);
});

test('each of two concurrent calls receives its own messages if the upstream has one stream per call', async () => {
  await using upstream = await modernProcess().start();
  await using stage = await openGateway({ mcpServers: { toy: { url: upstream.url.href } } });
  await using ebb = await connect(stage, 'auto');
  await using flow = await connect(stage, 'auto');
  const [gate, done] = [notes(), notes()];
  const calling = (reader: Reader, data: string) =>
    reader.log([{ level: 'info', logger: 'tide', data }], 'info', { done: done.file, until: gate.file });
  const calls = [calling(ebb, 'ebb'), calling(flow, 'flow')];
  await until(() => done.lines().length === 2);
  await ebb.log([], undefined, { done: gate.file });
  await Promise.all(calls);
  expect([ebb, flow].map(({ received }) => received.map(({ data }) => data))).toEqual([['ebb'], ['flow']]);
});

test('an upstream of 2026-07-28 gets the level of the call or of the sessions, or none', async () => {
  await using stage = await openGateway({ mcpServers: { toy: modernToy } });
  await using reader = await connect(stage, 'auto');
  expect(await reader.call('level', {})).toBe('undefined');
  expect(await reader.call('level', {}, 'error')).toBe('error');
  await using session = await connect(stage, 'legacy');
  expect(await session.call('level', {})).toBe('info');
  await session.client.setLoggingLevel('critical');
  expect(await session.call('level', {})).toBe('critical');
});

test('an upstream of 2025-11-25 gets the most verbose level that anybody requests, and gets it again after a restart', async () => {
  await using stage = await openGateway({ mcpServers: { toy } });
  await using calm = await connect(stage, 'legacy');
  const requested = async (): Promise<string[]> => JSON.parse(await calm.call('levels', {}));
  expect(await requested()).toEqual([]);
  await calm.client.setLoggingLevel('error');
  expect(await requested()).toEqual(['error']);
  {
    // This session has not set a level.
    await using usual = await connect(stage, 'legacy');
    await expect.poll(requested).toEqual(['error', 'info']);
    await usual.client.setLoggingLevel('debug');
    expect(await requested()).toEqual(['error', 'info', 'debug']);
  }
  await expect.poll(requested).toEqual(['error', 'info', 'debug', 'error']);
  await using modern = await connect(stage, 'auto');
  expect(JSON.parse(await modern.call('levels', {}, 'notice')).at(-1)).toBe('notice');
  await expect.poll(async () => (await requested()).at(-1)).toBe('error');
  await calm.call('crash', {}).catch(() => {});
  await expect.poll(requested).toEqual(['error']);
});

describe.each(['auto', 'legacy'] as const)('on standard input and output (%s)', (mode) => {
  test('log messages of upstreams arrive as over HTTP', async () => {
    const program = join(import.meta.dirname, '../../bin/holdfast.js');
    const words = [
      '--disable-warning=ExperimentalWarning',
      program,
      'serve',
      '--stdio',
      '--store',
      'memory:',
    ];
    await using reader = await connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [...words, '--', toy.command, ...toy.args],
        stderr: 'ignore',
      }),
      mode,
    );
    if (mode === 'legacy') await reader.client.setLoggingLevel('warning');
    await reader.log(all, mode === 'legacy' ? undefined : 'warning');
    const expected = [all[2], { level: 'alert', logger: expect.any(String), data: 'high water' }];
    await expect.poll(() => reader.received).toEqual(expected);
  });
});

// --- Owners ------------------------------------------------------------------------------------------------

test('a message without a known call reaches nobody while calls of several owners are open', async () => {
  const received: string[] = [];
  const openCalls: UpstreamCall[] = [];
  const logs = new UpstreamLogs(upstreamWith(openCalls), new SessionLogs());
  const start = async (owner: string) => {
    const upstreamCall = new UpstreamCall(owner);
    upstreamCall.task = { id: `task of ${owner}`, progress: () => {}, setStatusMessage: () => {} };
    logs
      .listen({ level: 'info', write: ({ data }) => received.push(`${owner}: ${data}`) })
      .isFor(Promise.resolve(`task of ${owner}`));
    await Promise.resolve();
    openCalls.push(upstreamCall);
    return upstreamCall;
  };
  const ada = await start('ada');
  logs.logged({ level: 'info', data: 'alone' }, undefined);
  const bob = await start('bob');
  logs.logged({ level: 'info', data: 'unknown call' }, undefined);
  logs.logged({ level: 'info', data: 'his' }, bob);
  openCalls.splice(openCalls.indexOf(ada), 1);
  logs.logged({ level: 'info', data: 'alone again' }, undefined);
  logs.logged({ level: 'loud', data: 'invalid level' }, undefined);
  expect(received).toEqual(['ada: alone', 'bob: his', 'bob: alone again']);
});

test('the level of a session survives a restart of the gateway and the upstream', async () => {
  const store = join(dirname(notes().file), 'tasks.db');
  const before = await openGateway({ mcpServers: { toy } }, store);
  const reader = await connect(before, 'legacy');
  await reader.client.setLoggingLevel('warning');
  const { sessionId } = reader.client.transport!;
  await before[Symbol.asyncDispose]();
  await reader.client.close();
  await using after = await openGateway({ mcpServers: { toy } }, store);
  const client = new Client({ name: 'reader', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(after.url, { sessionId: sessionId! }));
  const stream = new AbortController();
  const response = await fetch(after.url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': sessionId! },
    signal: stream.signal,
  });
  const frames = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const messages = [
    { level: 'info', data: 'too little' },
    { level: 'alert', data: 'enough' },
  ];
  await client.callTool({ name: 'say', arguments: { messages } });
  let text = '';
  while (!text.includes('enough')) text += (await frames.read()).value;
  expect(text).not.toContain('too little');
  stream.abort();
  await client.close();
});

function upstreamWith(openCalls: readonly UpstreamCall[]): LoggingUpstream {
  return {
    name: 'toy',
    isOnlyUpstream: true,
    connection: { isModern: true, instance: 'one' },
    openCalls: openCalls,
    has: () => true,
    request: async () => ({}),
  };
}
