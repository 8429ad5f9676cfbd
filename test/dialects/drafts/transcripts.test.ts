/**
 * The transcripts of `docs/dialects.md`, recorded anew from a real server and compared. When a change of the wire is
 * meant, `UPDATE=1 npx vitest run test/dialects/drafts/transcripts.test.ts` writes them, and the page.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Newsroom, newsroom } from './newsroom.ts';
import type { Draft } from './peer.ts';
import { Recorder, type Said } from './recorder.ts';
import { filled, folded, namesIn } from './render.ts';

type Talk = (client: Recorder, newsroom: Newsroom) => Promise<void>;

const approve = { action: 'accept', content: { yes: true } };
const publish = { name: 'publish', arguments: { title: 'Tides' } };
const edition = { name: 'edition', arguments: { titles: ['Tides'] } };
const elicitation = { elicitation: {} };

const task = { ttl: 3_600_000 };

function flagging(draft: string): object {
  return { ...elicitation, experimental: { [draft]: {} } };
}

function extended(...extensions: readonly string[]): object {
  const all = ['io.modelcontextprotocol/tasks', ...extensions].map((name) => [name, {}]);
  return { elicitation: { form: {} }, extensions: Object.fromEntries(all) };
}

async function called(client: Recorder, call: object): Promise<string> {
  return (await client.request('tools/call', { ...call, task })).task.taskId;
}

/** Looks at a task and then at its first child, which has a question. */
async function child(client: Recorder, { until, untilSubtask }: Newsroom, taskId: string): Promise<string> {
  await untilSubtask(taskId);
  const [first] = (await client.request('tasks/get', { taskId })).childTaskIds;
  await until(first, 'waiting');
  await client.request('tasks/get', { taskId: first });
  return first;
}

/** One short conversation for each dialect. */
const scenarios: Readonly<Record<string, Talk>> = {
  async '2025-11-25'(client, { until }) {
    await client.open(elicitation);
    const taskId = await called(client, publish);
    await until(taskId, 'waiting');
    await client.request('tasks/get', { taskId });
    await client.request('tasks/result', { taskId });
  },

  async 'sep-1686'(client) {
    await client.open(elicitation);
    const taskId = 'publish-tides';
    const _meta = { 'modelcontextprotocol.io/task': { taskId, keepAlive: 3_600_000 } };
    await client.request('tools/call', { ...publish, _meta });
    const related = { 'modelcontextprotocol.io/related-task': { taskId } };
    await client.request('tasks/get', { taskId, _meta: related });
    await client.request('tasks/delete', { taskId, _meta: related });
  },

  async 'sep-2229'(client, { until }) {
    await client.open(flagging('sep-2229'));
    await client.request('tools/call', { name: 'count', arguments: { text: 'Tides' }, task });
    const { taskId } = (await client.request('resources/read', { uri: 'archive://1899' })).task;
    await until(taskId, 'done');
    await client.request('tasks/result', { taskId });
  },

  async 'sep-2268'(client, newsroom) {
    await client.open(flagging('sep-2268'));
    const taskId = await called(client, edition);
    await client.request('tasks/result', { taskId: await child(client, newsroom, taskId) });
    await newsroom.until(taskId, 'done');
    await client.request('tasks/get', { taskId });
  },

  async 'sep-2339'(client, { until, stopPress }) {
    await client.open(flagging('sep-2339'));
    const print = stopPress();
    const taskId = await called(client, publish);
    await until(taskId, 'waiting');
    await client.request('tasks/continue', { taskId });
    await client.request('tasks/continue', { taskId, inputResponses: { approve } });
    print();
    await until(taskId, 'done');
    await client.request('tasks/continue', { taskId });
  },

  async '2026-07-28'(client, { until }) {
    client.speakLater(extended());
    await client.request('server/discover', {});
    const { taskId } = await client.request('tools/call', publish);
    await until(taskId, 'waiting');
    await client.request('tasks/get', { taskId });
    await client.request('tasks/update', { taskId, inputResponses: { approve } });
    await until(taskId, 'done');
    await client.request('tasks/get', { taskId });
  },

  async '2026-07-28-with-subtasks'(client, newsroom) {
    client.speakLater(extended('dev.holdfast/subtasks'));
    await child(client, newsroom, (await client.request('tools/call', edition)).taskId);
  },
};

function draftsOf(name: string): Draft[] {
  if (name === '2026-07-28-with-subtasks') return ['sep-2268'];
  return name.startsWith('sep-') ? [name as Draft] : [];
}

const folder = join(import.meta.dirname, 'transcripts');
const page = join(import.meta.dirname, '../../../docs/dialects.md');
const isUpdating = process.env.UPDATE === '1';

function fileOf(name: string): string {
  return join(folder, `${name}.json`);
}

function stored(name: string): Said[] {
  return JSON.parse(readFileSync(fileOf(name), 'utf8')) as Said[];
}

test.each(Object.keys(scenarios))('what is said in %s is what its transcript says', async (name) => {
  const room = await newsroom(draftsOf(name));
  const client = new Recorder(room.url, approve);
  await scenarios[name]!(client, room);
  const transcript = client.transcript();
  if (isUpdating) writeFileSync(fileOf(name), `${JSON.stringify(transcript, undefined, 2)}\n`);
  expect(transcript).toEqual(stored(name));
});

test('there is a transcript for each conversation, and the page shows them all', () => {
  const names = Object.keys(scenarios).sort();
  expect(
    readdirSync(folder)
      .map((file) => file.replace(/\.json$/, ''))
      .sort(),
  ).toEqual(names);
  expect(namesIn(readFileSync(page, 'utf8')).sort()).toEqual(names);
});

test('the page shows the transcripts as they are', () => {
  const text = readFileSync(page, 'utf8');
  const renewed = filled(text, stored);
  if (isUpdating) writeFileSync(page, renewed);
  else expect(text).toBe(renewed);
});

test('a message is shown on as few lines as fit', () => {
  expect(folded({ a: 1, b: [] })).toBe('{ "a": 1, "b": [] }');
  const long = { text: 'x'.repeat(100), list: [{ a: 1 }] };
  expect(folded(long)).toBe(`{\n  "text": "${'x'.repeat(100)}",\n  "list": [{ "a": 1 }]\n}`);
});
