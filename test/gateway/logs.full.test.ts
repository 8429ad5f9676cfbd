/** What upstreams log reaches those that want to hear it, and nobody else. */
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

interface Heard {
  readonly level: string;
  readonly logger?: string;
  readonly data: unknown;
}

/** A client of the SDK, and what it hears. */
async function connect(to: Stage | StdioClientTransport, mode: 'auto' | 'legacy') {
  const client = new Client({ name: 'reader', version: '1' }, { versionNegotiation: { mode } });
  const heard: Heard[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params as Heard));
  await client.connect('url' in to ? new StreamableHTTPClientTransport(to.url) : to);
  const call = async (name: string, input: object, level?: string) => {
    const _meta = level === undefined ? {} : { _meta: { [logLevelKey]: level } };
    const result = await client.callTool({ name, arguments: { ...input }, ..._meta } as never);
    return textOf(result as Record<string, unknown>);
  };
  return {
    client,
    heard,
    call,
    say: (messages: readonly Heard[], level?: string, more: object = {}) =>
      call('say', { messages, ...more }, level),
    [Symbol.asyncDispose]: async () => {
      await (client.transport as { terminateSession?(): Promise<void> }).terminateSession?.();
      await client.close();
    },
  };
}

type Reader = Awaited<ReturnType<typeof connect>>;

/** On HTTP the stream on which a session hears is opened beside everything else. */
async function untilItHears({ heard, say }: Reader): Promise<void> {
  while (heard.length === 0) {
    await say([{ level: 'emergency', data: 'are you there?' }]);
    await until(() => heard.length > 0, 500).catch(() => {});
  }
}

const all: readonly Heard[] = [
  { level: 'debug', data: 'low water' },
  { level: 'info', logger: 'tide', data: 'rising' },
  { level: 'warning', logger: 'tide', data: { metres: 7, at: ['Brest', null] } },
  { level: 'alert', data: 'high water' },
];

/** What is heard besides the question whether it is. */
const besides = ({ heard }: Reader) => heard.filter(({ level }) => level !== 'emergency');

describe.each(upstreams)('with an upstream of %s', (_, open) => {
  test('a session hears what is logged from its own level on, and from info on if it has set none', async () => {
    await using stage = await openGateway({ mcpServers: { toy: await open() } });
    await using usual = await connect(stage, 'legacy');
    await using keen = await connect(stage, 'legacy');
    await using calm = await connect(stage, 'legacy');
    await keen.client.setLoggingLevel('debug');
    await calm.client.setLoggingLevel('error');
    for (const reader of [usual, keen, calm]) await untilItHears(reader);
    await usual.say(all);
    await until(() => [usual, keen, calm].every(({ heard }) => heard.at(-1)?.data === 'high water'));
    const [debug, info, warning, alert] = [
      { level: 'debug', logger: 'toy', data: 'low water' },
      all[1],
      all[2],
      { level: 'alert', logger: 'toy', data: 'high water' },
    ];
    expect(besides(keen)).toEqual([debug, info, warning, alert]);
    expect(besides(usual)).toEqual([info, warning, alert]);
    expect(besides(calm)).toEqual([alert]);
  });

  test('a call of 2026-07-28 hears what is logged meanwhile from the level on that it names, and nothing if it names none', async () => {
    await using stage = await openGateway({ mcpServers: { toy: await open() } });
    await using reader = await connect(stage, 'auto');
    expect(reader.client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(await reader.say(all)).toBe('said');
    expect(reader.heard).toEqual([]);
    // They are on the stream of the answer, in front of it.
    expect(await reader.say(all, 'notice')).toBe('said');
    expect(reader.heard).toEqual([all[2], { level: 'alert', logger: 'toy', data: 'high water' }]);
    reader.heard.length = 0;
    await reader.say(all, 'debug');
    expect(reader.heard).toHaveLength(4);
  });
});

test.each([
  ['2025-11-25', toy],
  ['2026-07-28', modernToy],
])('calls that wait for a place are heard too, with an upstream of %s', async (_, server) => {
  await using stage = await openGateway({ mcpServers: { toy: { ...server, concurrency: 1 } } });
  await using reader = await connect(stage, 'auto');
  await reader.say(all, 'alert');
  expect(reader.heard).toEqual([{ level: 'alert', logger: 'toy', data: 'high water' }]);
});

test('with several upstreams the names of loggers say whose they are', async () => {
  await using stage = await openGateway({ mcpServers: { old: toy, young: modernToy } });
  await using reader = await connect(stage, 'auto');
  const messages = all.slice(0, 2);
  for (const name of ['old_say', 'young_say']) await reader.call(name, { messages }, 'debug');
  expect(reader.heard.map(({ logger }) => logger)).toEqual(['old', 'old/tide', 'young', 'young/tide']);
});

test('of two calls under way at the same time each hears its own, where the upstream gives each a stream', async () => {
  await using upstream = await modernProcess().start();
  await using stage = await openGateway({ mcpServers: { toy: { url: upstream.url.href } } });
  await using ebb = await connect(stage, 'auto');
  await using flow = await connect(stage, 'auto');
  const [gate, done] = [notes(), notes()];
  const calling = (reader: Reader, data: string) =>
    reader.say([{ level: 'info', logger: 'tide', data }], 'info', { done: done.file, until: gate.file });
  const calls = [calling(ebb, 'ebb'), calling(flow, 'flow')];
  await until(() => done.lines().length === 2);
  await ebb.say([], undefined, { done: gate.file });
  await Promise.all(calls);
  expect([ebb, flow].map(({ heard }) => heard.map(({ data }) => data))).toEqual([['ebb'], ['flow']]);
});

test('an upstream of 2026-07-28 is told the level of the call, or what sessions want, and otherwise none', async () => {
  await using stage = await openGateway({ mcpServers: { toy: modernToy } });
  await using reader = await connect(stage, 'auto');
  expect(await reader.call('level', {})).toBe('undefined');
  expect(await reader.call('level', {}, 'error')).toBe('error');
  await using session = await connect(stage, 'legacy');
  expect(await session.call('level', {})).toBe('info');
  await session.client.setLoggingLevel('critical');
  expect(await session.call('level', {})).toBe('critical');
});

test('an upstream of 2025-11-25 is asked for the most that anybody wants, and asked again after it was restarted', async () => {
  await using stage = await openGateway({ mcpServers: { toy } });
  await using calm = await connect(stage, 'legacy');
  const asked = async (): Promise<string[]> => JSON.parse(await calm.call('levels', {}));
  expect(await asked()).toEqual([]);
  await calm.client.setLoggingLevel('error');
  expect(await asked()).toEqual(['error']);
  {
    // It has set no level.
    await using usual = await connect(stage, 'legacy');
    await expect.poll(asked).toEqual(['error', 'info']);
    await usual.client.setLoggingLevel('debug');
    expect(await asked()).toEqual(['error', 'info', 'debug']);
  }
  await expect.poll(asked).toEqual(['error', 'info', 'debug', 'error']);
  await using modern = await connect(stage, 'auto');
  expect(JSON.parse(await modern.call('levels', {}, 'notice')).at(-1)).toBe('notice');
  await expect.poll(async () => (await asked()).at(-1)).toBe('error');
  await calm.call('crash', {}).catch(() => {});
  await expect.poll(asked).toEqual(['error']);
});

describe.each(['auto', 'legacy'] as const)('on standard input and output (%s)', (mode) => {
  test('what upstreams log is heard as it is over HTTP', async () => {
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
    await reader.say(all, mode === 'legacy' ? undefined : 'warning');
    const expected = [all[2], { level: 'alert', logger: expect.any(String), data: 'high water' }];
    await expect.poll(() => reader.heard).toEqual(expected);
  });
});

// --- Whose --------------------------------------------------------------------------------------------------

test('where an upstream does not say of which call it speaks, nobody hears what may be of a call of another person', async () => {
  const heard: string[] = [];
  const drives: UpstreamCall[] = [];
  const logs = new UpstreamLogs(upstreamWith(drives), new SessionLogs());
  const begin = async (owner: string) => {
    const drive = new UpstreamCall(owner);
    drive.task = { id: `task of ${owner}`, progress: () => {}, setStatusMessage: () => {} };
    logs
      .listen({ level: 'info', write: ({ data }) => heard.push(`${owner}: ${data}`) })
      .isFor(Promise.resolve(`task of ${owner}`));
    await Promise.resolve();
    drives.push(drive);
    return drive;
  };
  const ada = await begin('ada');
  logs.logged({ level: 'info', data: 'alone' }, undefined);
  const bob = await begin('bob');
  logs.logged({ level: 'info', data: 'who knows of whom' }, undefined);
  logs.logged({ level: 'info', data: 'his' }, bob);
  drives.splice(drives.indexOf(ada), 1);
  logs.logged({ level: 'info', data: 'alone again' }, undefined);
  logs.logged({ level: 'loud', data: 'no level' }, undefined);
  expect(heard).toEqual(['ada: alone', 'bob: his', 'bob: alone again']);
});

test('the level of a session holds after a restart of the gateway, and of the upstream with it', async () => {
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

function upstreamWith(drives: readonly UpstreamCall[]): LoggingUpstream {
  return {
    name: 'toy',
    isAlone: true,
    connection: { isModern: true, instance: 'one' },
    drives,
    has: () => true,
    request: async () => ({}),
  };
}
