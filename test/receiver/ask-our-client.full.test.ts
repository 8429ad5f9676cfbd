/** Questions as tasks between our server and our client, whichever of them goes away in between. */
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { connectTasks } from 'holdfast/client';
import { expect, onTestFinished, test } from 'vitest';
import { TaskCancelled } from '../../src/remote-tasks/errors.ts';
import { by, shown } from '../client/rows-recorded.ts';
import { atEnd, temporaryFile } from '../kit/lifetime.ts';
import { sources } from '../kit/process.ts';
import { ServerProcess } from '../kit/server-process.ts';
import { serveAsking } from './asking.ts';
import { holding, RawHolder } from './raw-holder.ts';
import { accepted, Person, sharedStore } from './raw-server.ts';

const text = (words: string) => [{ type: 'text', text: words }];

async function host(url: string, more: object = {}) {
  const person = new Person();
  const client = new Client({ name: 'host', version: '1' });
  const tasks = await connectTasks(client, url, {
    registry: 'memory:',
    hostedTasks: 'memory:',
    answers: ['form', 'sampling'],
    answer: person.answer,
    pace: { floorMs: 10, ceilingMs: 100 },
    ...more,
  });
  onTestFinished(() => tasks.close());
  return { person, tasks, client };
}

/** The same server, killed and started again. */
async function killable(): Promise<ServerProcess> {
  const program = join(import.meta.dirname, 'asking.ts');
  const store = temporaryFile();
  const server = new ServerProcess((port) => sources(program, store, port));
  atEnd(() => server.kill());
  return server.start();
}

const modes = [
  ['2025-11-25', {}],
  ['SEP-2229', { drafts: ['sep-2229'] }],
  ['SEP-2268', { drafts: ['sep-2268'] }],
  ['SEP-2339', { drafts: ['sep-2339'] }],
  ['all drafts', { drafts: 'all' }],
] as const;

test.each(modes)('S2025-62 our client holds the questions of our server, with %s', async (_, options) => {
  const { url, stop } = await serveAsking();
  onTestFinished(stop);
  const { person, tasks } = await host(url, options);
  const greeting = tasks.callTool({ name: 'greet' });
  await person.wasAsked();
  // Long enough for a task that nobody wished for.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await person.says(accepted);
  expect((await greeting).content).toEqual(text('Hello, Kelp!'));
  const pondering = tasks.callTool({ name: 'ponder' });
  await person.says({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Tides.' } }, 2);
  expect((await pondering).content).toEqual(text('{"type":"text","text":"Tides."}'));
  expect(person.asked).toHaveLength(2);
});

test('a server that is killed while the person thinks finds the client’s task again', async () => {
  const server = await killable();
  const { person, tasks } = await host(server.url.href);
  const greeting = tasks.callTool({ name: 'greet' });
  await person.wasAsked();
  await server.kill();
  await server.start();
  await person.says(accepted);
  expect((await greeting).content).toEqual(text('Hello, Kelp!'));
  expect(person.asked).toHaveLength(1);
});

test('a server that is killed asks a raw client for the same task, on the next stream', async () => {
  const server = await killable();
  const holder = new RawHolder(server.url.href, { capabilities: holding });
  await holder.open();
  onTestFinished(() => holder.hangUp());
  const taskId = await holder.start('greet');
  let status = 'working';
  holder.reply = by({
    'elicitation/create': () => ({ result: { task: shown('theirs', 'working') } }),
    'tasks/get': () => ({ result: shown('theirs', status) }),
    'tasks/result': () => ({ result: accepted }),
  });
  await holder.hearken();
  await holder.untilAsked('tasks/get');
  await server.kill();
  await server.start();
  status = 'completed';
  const { result } = await holder.outcome(taskId);
  expect(result.content).toEqual(text('Hello, Kelp!'));
  expect(holder.requests('elicitation/create')).toHaveLength(1);
  expect(holder.requests('tasks/get').every(({ params }) => params.taskId === 'theirs')).toBe(true);
});

test('a client whose host forgot everything is asked anew', async () => {
  const { url, stop } = await serveAsking();
  onTestFinished(stop);
  const handles = sharedStore();
  const first = await host(url, { registry: handles });
  const { id } = await first.tasks.call('greet');
  await first.person.wasAsked();
  await first.tasks.close();
  const second = await host(url, { registry: handles });
  const resumed = await second.tasks.resume(id);
  await second.person.says(accepted);
  expect((await resumed.result()).content).toEqual(text('Hello, Kelp!'));
});

test('a person who is asked for a task that was cancelled is told to stop', async () => {
  const { url, stop } = await serveAsking();
  onTestFinished(stop);
  const { person, tasks } = await host(url);
  const handle = await tasks.call('greet');
  await person.wasAsked();
  const { signal } = person.asked[0]!;
  const told = new Promise((resolve) => signal.addEventListener('abort', resolve));
  await handle.cancel();
  await told;
  await expect(handle.result()).rejects.toThrow(TaskCancelled);
});
