/** Clients of a gateway see what its upstreams offer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TaskCancelled } from '../../src/remote-tasks/errors.ts';
import { connectOurClient, type OurClient } from '../dialects/interop/our-client.ts';
import { textOf } from '../kit/text.ts';
import { until } from '../kit/until.ts';
import { everything, notes, openGateway, type Stage, toy } from './stage.ts';

const revisions = [
  ['2025-11-25', false],
  ['2026-07-28', true],
] as const;

describe.each(revisions)('for a client of %s', (revision, isModern) => {
  let stage: Stage;
  let client: OurClient;

  beforeAll(async () => {
    stage = await openGateway({ mcpServers: { everything, toy } });
    client = await connectOurClient(stage.url, { isModern });
    expect(client.tasks.client.getNegotiatedProtocolVersion()).toBe(revision);
  });

  afterAll(async () => {
    await client?.tasks.close();
    await stage?.[Symbol.asyncDispose]();
  });

  test('the tools of all upstreams are listed in the format of the revision', async () => {
    const { tools } = (await client.tasks.request('tools/list', {})) as unknown as {
      tools: { name: string; execution?: object; annotations?: object }[];
    };
    const named = (name: string) => tools.find((tool) => tool.name === name);
    expect(named('echo')).toMatchObject({ inputSchema: { properties: { message: {} } } });
    expect(named('look')).toMatchObject({ annotations: { readOnlyHint: true } });
    expect(named('echo')?.execution).toEqual(isModern ? undefined : { taskSupport: 'optional' });
  });

  test('prompts, resources, templates and completions are forwarded', async () => {
    const { client: sdk } = client.tasks;
    const { prompts } = await sdk.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain('completable-prompt');
    const prompt = await sdk.getPrompt({ name: 'args-prompt', arguments: { city: 'Brest' } });
    expect(JSON.stringify(prompt.messages)).toContain('Brest');
    const { resources } = await sdk.listResources();
    const read = await sdk.readResource({ uri: resources[0]!.uri });
    expect(read.contents).toHaveLength(1);
    expect((await sdk.listResourceTemplates()).resourceTemplates.length).toBeGreaterThan(0);
    const dynamic = await sdk.readResource({ uri: 'demo://resource/dynamic/text/3' });
    expect(dynamic.contents[0]!.uri).toBe('demo://resource/dynamic/text/3');
    const { completion } = await sdk.complete({
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    });
    expect(completion.values).toContain('Engineering');
  });

  test('an unknown resource, prompt or tool is rejected', async () => {
    const { client: sdk } = client.tasks;
    await expect(sdk.readResource({ uri: 'nowhere://at/all' })).rejects.toThrow(/not found/i);
    await expect(sdk.getPrompt({ name: 'nothing' })).rejects.toThrow('Prompt nothing not found');
    await expect(client.tasks.callTool({ name: 'nothing' })).rejects.toThrow('Tool nothing not found');
  });

  test('a question of an upstream is passed to the caller, and the answer goes back', async () => {
    expect(textOf(await client.tasks.callTool({ name: 'ask_model' }))).toContain('The tide is high.');
    const answer = JSON.parse(
      textOf(await client.tasks.callTool({ name: 'trigger-elicitation-request' })).split('Raw result: ')[1]!,
    );
    expect(answer.action).toBe('accept');
  });

  test('the gateway refuses questions that the caller cannot answer, and the upstream continues', async () => {
    await using shy = await connectOurClient(stage.url, { isModern, answers: ['sampling'] });
    expect(textOf(await shy.tasks.callTool({ name: 'ask' }))).toBe('{"action":"cancel"}');
    const roots = await shy.tasks.callTool({ name: 'roots' });
    expect(roots.isError).toBe(true);
    expect(shy.asked).toEqual([]);
  });

  test('progress of a plain upstream is progress of the task', async () => {
    const handle = await client.tasks.call('progress');
    const updates: string[] = [];
    for await (const update of handle.updates())
      if (update.type === 'progress')
        updates.push(`${update.progress} of ${update.total}: ${update.message}`);
    expect(textOf(await handle.result())).toBe('all parts');
    expect(updates.at(-1)).toBe('4 of 4: part 4');
  });

  test('an error result stays one, and cancelling a task cancels the call', async () => {
    expect(await client.tasks.callTool({ name: 'fail' })).toMatchObject({ isError: true });
    const { file, lines } = notes();
    const handle = await client.tasks.call('write', { file, ms: 60_000 });
    await until(() => lines().includes('begun'));
    await handle.cancel();
    await until(() => lines().includes('cancelled'));
    await expect(handle.result()).rejects.toThrow(TaskCancelled);
  });
});

test('a tool that appears is announced, and can be called; log messages come through', async () => {
  await using stage = await openGateway({ mcpServers: { toy } });
  await using client = await connectOurClient(stage.url);
  const received: string[] = [];
  client.tasks.client.setNotificationHandler('notifications/message', ({ params }) => {
    received.push(`${params.logger}: ${params.data}`);
  });
  client.tasks.client.setNotificationHandler('notifications/tools/list_changed', () => {
    received.push('tools changed');
  });
  await client.tasks.callTool({ name: 'log' });
  await until(() => received.includes('toy: the tide turns'));
  await client.tasks.callTool({ name: 'grow' });
  await until(() => received.includes('tools changed'));
  expect(textOf(await client.tasks.callTool({ name: 'grown' }))).toBe('grown');
});

test('names are prefixed only where two upstreams have the same', async () => {
  await using stage = await openGateway({ mcpServers: { one: toy, two: toy, everything } });
  await using client = await connectOurClient(stage.url);
  const { tools } = (await client.tasks.request('tools/list', {})) as unknown as {
    tools: { name: string }[];
  };
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['one_pid', 'two_pid', 'echo']));
  expect(names).not.toContain('pid');
  const [one, two] = await Promise.all(
    ['one_pid', 'two_pid'].map(async (name) => textOf(await client.tasks.callTool({ name }))),
  );
  expect(one).not.toBe(two);
});

test('an upstream that crashed is started again, and its open call is lost', async () => {
  await using stage = await openGateway({ mcpServers: { toy } });
  await using client = await connectOurClient(stage.url, { isModern: true });
  const before = textOf(await client.tasks.callTool({ name: 'pid' }));
  await expect(client.tasks.callTool({ name: 'crash' })).rejects.toThrow(
    /"crash" of "toy" may have been executed/,
  );
  const after = textOf(await client.tasks.callTool({ name: 'pid' }));
  expect(after).not.toBe(before);
});

test('a broken call is retried only if the tool is idempotent', async () => {
  const { file, lines } = notes();
  await using stage = await openGateway({
    mcpServers: { toy: { ...toy, retry: { attempts: 3, delay: '10ms' } } },
  });
  await using client = await connectOurClient(stage.url, { isModern: true });
  expect(textOf(await client.tasks.callTool({ name: 'crash_once', arguments: { file } }))).toBe(
    'the second time',
  );
  expect(lines()).toEqual(['tried', 'tried']);
  await expect(client.tasks.callTool({ name: 'crash' })).rejects.toMatchObject({ rpcCode: -32603 });
});

test('an unreachable upstream does not affect the others', async () => {
  await using stage = await openGateway({
    mcpServers: {
      toy,
      gone: { command: process.execPath, args: ['-e', 'console.error("no tide today"); process.exit(1)'] },
    },
  });
  await using client = await connectOurClient(stage.url);
  expect(textOf(await client.tasks.callTool({ name: 'pid' }))).toMatch(/^\d+$/);
});

test('the concurrent calls of a tool are limited', async () => {
  const { file, lines } = notes();
  await using stage = await openGateway({
    mcpServers: { toy: { ...toy, tools: { write: { concurrency: 1 } } } },
  });
  await using client = await connectOurClient(stage.url);
  const call = () => client.tasks.callTool({ name: 'write', arguments: { file, ms: 50 } });
  await Promise.all([call(), call(), call()]);
  expect(lines()).toEqual(['begun', 'done', 'begun', 'done', 'begun', 'done']);
});

test('a question reaches the right caller although a stranger has an open call on the same connection', async () => {
  const { file, lines } = notes();
  await using stage = await openGateway({ mcpServers: { toy } });
  await using stranger = await connectOurClient(stage.url, { isModern: true });
  await using asked = await connectOurClient(stage.url, { isModern: true });
  const writing = stranger.tasks.callTool({ name: 'write', arguments: { file, ms: 400 } });
  await until(() => lines().includes('begun'));
  const asking = asked.tasks.callTool({ name: 'ask' });
  // Later calls wait until the question is attributed.
  const later = stranger.tasks.callTool({ name: 'pid' });
  expect(textOf(await asking)).toContain('Ada');
  expect(lines()).toEqual(['begun', 'done']);
  expect(textOf(await writing)).toBe('worked');
  expect(textOf(await later)).toMatch(/^\d+$/);
  expect([stranger.asked.length, asked.asked.length]).toEqual([0, 1]);
});

test('two simultaneous identical questions are answered by their own callers', async () => {
  await using stage = await openGateway({ mcpServers: { toy } });
  const clients = await Promise.all([1, 2].map(() => connectOurClient(stage.url, { isModern: true })));
  await Promise.all(clients.map((client) => client.tasks.callTool({ name: 'ask' })));
  expect(clients.map(({ asked }) => asked.length)).toEqual([1, 1]);
  await Promise.all(clients.map((client) => client.tasks.close()));
});
