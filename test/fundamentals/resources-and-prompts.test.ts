import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  createTasks,
  type DurableTool,
  durablePrompt,
  durableResource,
  durableTool,
  InvalidInput,
  ProtocolError,
  type TaskContext,
} from '../../src/index.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { runTool } from '../../src/testing.ts';
import { withCode } from '../kit/with-code.ts';

test('reading a resource is a task with steps, and its result is the contents', async () => {
  const report = durableResource(
    'report',
    { uri: 'report://{day}/{+path}', mimeType: 'text/plain' },
    async ({ uri, variables }, task) => {
      const wind = await task.step('measure', () => `${variables.day}: 3 knots`);
      await task.sleep('1h');
      return `${wind} (${variables.path} of ${uri})`;
    },
  );
  for (const crashAfterEveryEntry of [false, true]) {
    const { result, passes } = await runTool(
      report,
      { uri: 'report://monday/a/b' },
      { crashAfterEveryEntry },
    );
    const text = 'monday: 3 knots (a/b of report://monday/a/b)';
    expect(result).toEqual({ contents: [{ uri: 'report://monday/a/b', mimeType: 'text/plain', text }] });
    expect(passes > 2).toBe(crashAfterEveryEntry);
  }
});

test('getting a prompt is a task that may ask, and its result is the messages', async () => {
  const review = durablePrompt(
    'review',
    { argsSchema: z.object({ file: z.string() }) },
    async ({ file }, task) => {
      const schema = z.object({ tone: z.string() });
      const answer = await task.ask('tone', { message: 'How?', schema });
      return `Review ${file}, ${answer.action === 'accept' ? answer.content.tone : 'as you like'}.`;
    },
  );
  const answers = { tone: { action: 'accept', content: { tone: 'gently' } } };
  const { result } = await runTool(review, { file: 'tide.ts' }, { answers, crashAfterEveryEntry: true });
  expect(result.messages).toEqual([
    { role: 'user', content: { type: 'text', text: 'Review tide.ts, gently.' } },
  ]);
});

test('a resource that was being read when everything stopped goes on behind its last step', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-resources-'));
  const ran: string[] = [];
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const slow = durableResource('slow', { uri: 'slow://{name}' }, async ({ variables }, task) => {
    for (const name of ['one', 'two', 'three'])
      await task.step(name, async () => {
        ran.push(name);
        if (name !== 'two') return;
        reached.resolve();
        await opened.promise;
      });
    return `${variables.name} is read`;
  });
  const open = () => createTasks({ store: () => openSqlite(join(folder, 'tasks.db')), resources: [slow] });

  const before = open();
  await before.work();
  const { id } = await before.create(slow, { uri: 'slow://tide', variables: { name: 'tide' } });
  await reached.promise;
  const closed = before.close();
  opened.resolve();
  await closed;
  expect(ran).toEqual(['one', 'two']);

  const after = open();
  await after.work();
  expect(await after.outcome(id)).toEqual({
    kind: 'result',
    isError: false,
    value: { contents: [{ uri: 'slow://tide', text: 'tide is read' }] },
  });
  expect(ran).toEqual(['one', 'two', 'three']);
  await after.close();
  await rm(folder, { recursive: true });
});

test('an exception fails the task, because there are no error results to put it in', async () => {
  const dry = durableResource('dry', { uri: 'sea://dry' }, async () => {
    throw new Error('No water.');
  });
  const gone = durablePrompt('gone', {}, async (_, task) => {
    await task.step('look', () => {
      throw new ProtocolError(-32602, 'There is no such prompt any more.');
    });
    return '';
  });
  const nothing = durablePrompt('nothing', {}, (async () => {}) as never);
  expect((await runTool(dry, { uri: 'sea://dry' })).outcome).toEqual({
    kind: 'failure',
    message: 'No water.',
  });
  expect((await runTool(gone, undefined)).outcome).toEqual({
    kind: 'failure',
    code: -32602,
    message: 'There is no such prompt any more.',
  });
  expect((await runTool(nothing, undefined)).outcome).toMatchObject({
    kind: 'failure',
    message: expect.stringMatching('did not return a prompt'),
  });
});

test('a URI that is not of the resource is refused before there is a task', async () => {
  const daily = durableResource('daily', { uri: 'report://{day}' }, async () => '');
  await using tasks = createTasks({ store: () => openSqlite('memory:'), resources: [daily] });
  const wrong = tasks.create(daily, { uri: 'report://monday/late' });
  await expect(wrong).rejects.toThrow(InvalidInput);
  await expect(wrong).rejects.toThrow(InvalidInput);
});

const leaf = {
  tool: durableTool('leaf', {}, async () => 'tool'),
  resource: durableResource('leaf', { uri: 'leaf://one' }, async () => 'resource'),
  prompt: durablePrompt('leaf', {}, async () => 'prompt'),
};

type Kind = keyof typeof leaf;

function start(task: TaskContext, kind: Kind) {
  if (kind === 'resource') return task.start(leaf.resource, { uri: 'leaf://one' });
  return kind === 'tool' ? task.start(leaf.tool) : task.start(leaf.prompt);
}

/** Starts a subtask of that kind, and tells what came of it. */
function parent(kind: Kind, childKind: Kind): DurableTool {
  const handler = async (_: unknown, task: TaskContext) => {
    await task.step('before', () => {});
    const found = await start(task, childKind).then(
      async (subtask) => JSON.stringify(await subtask.result()),
      (error: Error) => `${error.name}: ${error.message}`,
    );
    await task.step('after', () => {});
    return found;
  };
  if (kind === 'resource') return durableResource('parent', { uri: 'parent://one' }, handler);
  return kind === 'tool' ? durableTool('parent', {}, handler) : durablePrompt('parent', {}, handler);
}

const kinds: readonly Kind[] = ['tool', 'resource', 'prompt'];
const others = kinds.flatMap((one) =>
  kinds.filter((other) => other !== one).map((other) => [one, other] as const),
);

test.each(others)(
  'S2268-17: a %s cannot start a %s, on any pass, and nothing is recorded of it',
  async (one, other) => {
    const tool = parent(one, other);
    const { outcome, task, passes } = await runTool(
      tool,
      { uri: 'parent://one' },
      {
        tools: Object.values(leaf),
        crashAfterEveryEntry: true,
      },
    );
    expect(outcome.kind).toBe('result');
    expect(JSON.stringify(outcome)).toContain(
      `InvalidOptions: ${tool.name} cannot start ${leaf[other].name}: a subtask must have the same type`,
    );
    expect(task.childCount).toBe(0);
    // One for each of the two steps, and the last to the end: the start in between left no entry.
    expect(passes).toBe(3);
  },
);

test.each(kinds)('a %s may start another', async (kind) => {
  const { outcome, task } = await runTool(
    parent(kind, kind),
    { uri: 'parent://one' },
    {
      tools: Object.values(leaf),
      crashAfterEveryEntry: true,
    },
  );
  expect(JSON.stringify(outcome)).toContain(`\\"${kind}\\"`);
  expect(task).toMatchObject({ childCount: 1, origin: { method: parent(kind, kind).method } });
});

test('a tool, a resource and a prompt may bear the same name; two of a kind may not', async () => {
  const { tool, resource, prompt } = leaf;
  const store = () => openSqlite('memory:');
  await using tasks = createTasks({ store, tools: [tool], resources: [resource], prompts: [prompt] });
  await using _worker = await tasks.work();
  expect([tasks.tools, tasks.resources, tasks.prompts]).toEqual([[tool], [resource], [prompt]]);
  const made = await Promise.all([
    tasks.create('leaf'),
    tasks.create('resource/leaf', { uri: 'leaf://one' }),
    tasks.create('prompt/leaf'),
  ]);
  expect(made.map(({ origin }) => origin.method)).toEqual(['tools/call', 'resources/read', 'prompts/get']);
  const outcomes = await Promise.all(made.map(({ id }) => tasks.outcome(id)));
  expect(outcomes).toMatchObject([
    { value: { content: [{ text: 'tool' }] } },
    { value: { contents: [{ text: 'resource' }] } },
    { value: { messages: [{ content: { text: 'prompt' } }] } },
  ]);
  expect(() => createTasks({ store, resources: [resource, resource] })).toThrow(withCode('DUPLICATE_TOOL'));
  expect(() => createTasks({ store, prompts: [prompt, prompt] })).toThrow(withCode('DUPLICATE_TOOL'));
});
