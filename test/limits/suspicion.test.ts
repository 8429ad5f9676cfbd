/** What no honest caller does, over the wire: it is counted, logged and slowed down, and tells nothing. */
import type { LogEntry, TasksOptions } from 'holdfast';
import { telemetry } from 'holdfast/telemetry';
import { expect, test } from 'vitest';
import { Peer, served } from '../dialects/revision-2025-11-25/peer.ts';
import { Peer as LaterPeer, served as servedToAll, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { type Answer, alike, faces, read } from '../owners/faces.ts';

const tokens = { 'token-a': 'ada', 'token-b': 'bob' };
const absent = 'a'.repeat(32);

async function watched(options: Partial<TasksOptions>) {
  const seen = telemetry();
  const entries: LogEntry[] = [];
  const server = await served({
    tokens,
    drafts: 'all',
    telemetry: seen,
    log: (entry) => entries.push(entry),
    ...options,
  });
  const count = async (metric: string) => {
    const line = (await seen.metrics()).split('\n').find((one) => one.startsWith(metric));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  const logged = () => entries.filter(({ event }) => event === 'suspicious');
  return { ...server, count, logged };
}

test('S1686-86, S2025-111: many failed looks of an owner are counted and logged once, and then refused', async () => {
  const { peer, count, logged } = await watched({ limits: { failedReadsPerMinute: 5 } });
  for (let n = 0; n < 5; n++) expect((await peer.get(absent)).error.code).toBe(-32602);
  expect(logged()).toMatchObject([
    {
      level: 'warn',
      event: 'suspicious',
      owner: 'owner:ada',
      detail: { pattern: 'failedLooks', count: 5 },
    },
  ]);
  for (let n = 0; n < 3; n++)
    expect((await peer.get(absent)).error.data).toMatchObject({ limit: 'failedReadsPerMinute' });
  expect(logged()).toHaveLength(1);
  expect(await count('holdfast_suspicious_total{pattern="failedLooks"}')).toBe(1);
  expect(await count('holdfast_refusals_total{limit="failedReadsPerMinute"}')).toBe(3);
});

test('whoever looks for what is not there still finds what is its own, and others do not feel it', async () => {
  const { peer: ada, url, tasks } = await watched({ limits: { failedReadsPerMinute: 1 } });
  const bob = new Peer(url, { token: 'token-b' });
  await bob.open();
  const { id } = await tasks.create('nap', { ms: 60_000 }, { owner: 'owner:ada' });
  for (let n = 0; n < 3; n++) await ada.get(absent);
  expect((await ada.get(absent)).error.data.limit).toBe('failedReadsPerMinute');
  expect((await ada.get(id)).result.status).toBe('working');
  // Of Bob it is the first.
  expect((await bob.get(id)).error.code).toBe(-32602);
});

test.each(['2026-07-28', '2025-11-25', 'SEP-1686'])(
  'S2663-99: in %s a refusal does not tell a task of another from none, nor does it count otherwise',
  async (dialect) => {
    /** Bob asks for the one four times, of which two are refused, and then for the other. */
    const answers = async (first: 'foreign' | 'absent', second: 'foreign' | 'absent') => {
      const { url, tasks, logged } = await watched({ limits: { failedReadsPerMinute: 2 } });
      const { id } = await tasks.create('nap', { ms: 60_000 }, { owner: 'owner:ada' });
      const ids = { foreign: id, absent };
      const face = await faces[dialect]!({ url, token: 'token-b' });
      const heard: Answer[] = [];
      for (const which of [first, first, first, first, second]) {
        const message = { id: 'look', method: 'tasks/get', params: face.about(ids[which]) };
        heard.push(alike(await read(await face.send(message))));
      }
      // The moments differ by a few milliseconds, on a busy machine by seconds.
      const worded = heard.map(({ text, headers, ...rest }) => ({
        ...rest,
        headers: { ...headers, 'retry-after': 'retry-after' in headers },
        text: text.replace(/"retryAfterMs":\d+/, '"retryAfterMs":N').replaceAll(/\d+ s\b/g, 'N s'),
      }));
      return { worded, logged: logged().map(({ at: _, ...entry }) => entry) };
    };
    const one = await answers('foreign', 'absent');
    expect(one.worded.filter(({ text }) => text.includes('failedReadsPerMinute'))).toHaveLength(3);
    expect(await answers('absent', 'foreign')).toEqual(one);
  },
);

test('a subscription that names tasks which cannot be found is a failed look too', async () => {
  const { url } = await servedToAll({ limits: { failedReadsPerMinute: 1 } });
  const peer = new LaterPeer(url, withTasks);
  const first = await peer.listen([absent]);
  expect(first.headers['content-type']).toContain('event-stream');
  first.close();
  const second = await peer.listen([absent]);
  expect(second.status).toBe(429);
  expect((await second.next())!.error.data.limit).toBe('failedReadsPerMinute');
  const own = await peer.listen([await peer.start('nap', { ms: 60_000 })]);
  expect(own.headers['content-type']).toContain('event-stream');
  own.close();
});

test('callers without a token are told apart by their address, whichever way they ask', async () => {
  const entries: LogEntry[] = [];
  const log = (entry: LogEntry) => entries.push(entry);
  const { url } = await servedToAll({ limits: { failedReadsPerMinute: 2 }, log });
  const later = new LaterPeer(url, withTasks);
  const older = new Peer(url);
  await older.open();
  await later.get(absent);
  // Waits, and so takes the way through the SDK.
  await older.request('tasks/result', { taskId: absent });
  expect((await older.get(absent)).error.data.limit).toBe('failedReadsPerMinute');
  expect(entries.filter(({ event }) => event === 'suspicious')).toMatchObject([
    { owner: 'anonymous', detail: { pattern: 'failedLooks', address: expect.stringContaining('127.0.0.1') } },
  ]);
});

test('S1686-86, S2025-111: polls far above the hint are counted, logged and slowed down to the hint', async () => {
  const { peer, tasks, count, logged } = await watched({ limits: { pollsPerHint: 1 } });
  const { id } = await tasks.create('nap', { ms: 60_000 }, { owner: 'owner:ada' });
  for (let n = 0; n < 601; n++) expect((await peer.get(id)).result.status).toBe('working');
  const { message, response } = await peer.send('tasks/get', { taskId: id });
  expect(message.error.data).toMatchObject({ limit: 'pollsPerHint' });
  expect(response.headers.get('retry-after')).toBe('1');
  expect(logged()).toMatchObject([
    { owner: 'owner:ada', task: id, detail: { pattern: 'eagerPolls', count: 601 } },
  ]);
  expect(await count('holdfast_suspicious_total{pattern="eagerPolls"}')).toBe(1);
  expect(await count('holdfast_refusals_total{limit="pollsPerHint"}')).toBe(1);
});

test('who polls a task of another does not slow down its owner', async () => {
  const { peer: ada, url, tasks } = await watched({ limits: { pollsPerHint: 1 } });
  const { id } = await tasks.create('nap', { ms: 60_000 }, { owner: 'owner:ada' });
  const bob = new Peer(url, { token: 'token-b' });
  await bob.open();
  for (let n = 0; n < 700; n++) await bob.get(id);
  expect((await ada.get(id)).result.status).toBe('working');
});

test('a log that throws refuses nobody', async () => {
  const log = () => {
    throw new Error('the disk of the log is full');
  };
  const { peer } = await served({ limits: { failedReadsPerMinute: 1 }, log });
  expect((await peer.get(absent)).error.code).toBe(-32602);
});
