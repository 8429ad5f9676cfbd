/** Questions of work whose caller knows no tasks: put to its client while the call is open, told in words after that. */
import type { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { textOf } from '../kit/text.ts';
import { accept } from '../serving/raw-client.ts';
import { idIn, Stage } from './stage.ts';

const ada = accept({ name: 'Ada' });
const nameSchema = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1 } },
  required: ['name'],
};

test('a client that cannot be asked is handed the question over at once, with its key, its schema and how to answer', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const { result } = await client.call('asking');
  const taskId = idIn(result);
  expect(result.structuredContent).toMatchObject({
    taskId,
    status: 'input_required',
    questions: [
      {
        key: 'name',
        kind: 'form',
        message: 'What is your name?',
        schema: nameSchema,
        answer: { action: 'accept', content: {} },
      },
    ],
    next: {
      tool: 'task_answer',
      arguments: { taskId, answers: {} },
    },
  });
  const text = textOf(result);
  for (const part of [taskId, 'What is your name?', '"name"', JSON.stringify(nameSchema), 'task_answer'])
    expect(text).toContain(part);

  expect(text).toContain(`task_answer with {"taskId":"${taskId}","answers":{"name":…}}`);
  const answered = await client.call('task_answer', { taskId, answers: { name: ada } });
  expect(textOf(answered.result)).toMatch(/^The answer was sent\./);
  expect(answered.result.structuredContent).toMatchObject({ taskId, next: { tool: 'task_wait' } });
  expect((await client.call('task_wait', { taskId })).result).toMatchObject({
    content: [{ text: 'Hello, Ada!' }],
  });
});

test('a question that comes after the hand-over ends a task_wait at once', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const taskId = await stage.handedOver(client, 'asking_late');
  const waiting = client.call('task_wait', { taskId });
  await stage.release(taskId);
  expect((await waiting).result.structuredContent).toMatchObject({ status: 'input_required' });
  expect((await client.call('task_status', { taskId })).result.structuredContent).toMatchObject({
    questions: [{ key: 'name' }],
  });
  await client.call('task_answer', { taskId, answers: { name: { action: 'decline' } } });
  expect((await client.call('task_wait', { taskId })).result).toMatchObject({
    content: [{ text: 'You said decline.' }],
  });
});

describe('a question for a person', () => {
  test('is told to a model, which cannot answer it', async () => {
    const stage = await Stage.open();
    const client = stage.raw();
    const { result } = await client.call('asking_person');
    const taskId = idIn(result);
    expect(result.structuredContent).toMatchObject({
      status: 'input_required',
      questions: [{ key: 'name', kind: 'form', message: 'What is your name?', person: true }],
      next: { tool: 'task_wait', arguments: { taskId } },
    });
    expect(textOf(result)).toContain('Only a person can answer this');
    expect(textOf(result)).not.toContain('task_answer');

    const { result: refused } = await client.call('task_answer', { taskId, answers: { name: ada } });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain('is for a person');
    expect((await client.call('task_status', { taskId })).result.structuredContent).toMatchObject({
      status: 'input_required',
    });
  });

  test('does not end a task_wait, which goes on until a person has answered', async () => {
    const stage = await Stage.open();
    const client = stage.raw();
    const taskId = idIn((await client.call('asking_person')).result);
    const told = await stage.passing(client.call('task_wait', { taskId }));
    expect(told.result.structuredContent).toMatchObject({ status: 'input_required' });

    const waiting = client.call('task_wait', { taskId });
    await stage.tasks.answer(taskId, { name: { action: 'accept', content: { name: 'Ada' } } });
    expect((await waiting).result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('is put to the client while the call is open, if it can be asked', async () => {
    const stage = await Stage.open();
    const client = await stage.older({ elicitation: {} });
    client.setRequestHandler(ElicitRequestSchema, () => ada);
    const result = await client.callTool({ name: 'asking_person' });
    expect(result.content).toEqual([{ type: 'text', text: 'Hello, Ada!' }]);
  });
});

test('the questions of subtasks are those of the task, each under a key of its own', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const first = await client.call('family_of_askers');
  const taskId = idIn(first.result);
  const keys = async () => {
    const { result } = await client.call('task_status', { taskId });
    const { questions = [] } = result.structuredContent as { questions?: { key: string }[] };
    return questions.map(({ key }) => key);
  };
  await expect.poll(keys).toEqual(['1/name', '2/name']);
  await client.call('task_answer', { taskId, answers: { '2/name': ada } });
  expect(await keys()).toEqual(['1/name']);
  await client.call('task_answer', { taskId, answers: { '1/name': accept({ name: 'Grace' }) } });
  expect((await client.call('task_wait', { taskId })).result).toMatchObject({
    content: [{ text: 'Hello, Grace! Hello, Ada!' }],
  });
});

test('a question to a language model can be answered by the one that calls the tools', async () => {
  const stage = await Stage.open();
  const client = stage.raw({ capabilities: { elicitation: {} } });
  const { result } = await client.call('sampling');
  const taskId = idIn(result);
  expect(result.structuredContent).toMatchObject({ questions: [{ key: 'rhyme', kind: 'sampling' }] });
  expect(textOf(result)).toContain('A rhyme?');
  const rhyme = { role: 'assistant', content: { type: 'text', text: 'tide, wide' }, model: 'poet' };
  await client.call('task_answer', { taskId, answers: { rhyme } });
  expect((await client.call('task_wait', { taskId })).result).toMatchObject({
    content: [{ text: 'tide, wide' }],
  });
});

test('a question of any kind says what its answer looks like, and takes such an answer', async () => {
  const stage = await Stage.open();
  const client = stage.raw();
  const taskId = idIn((await client.call('asking_everything')).result);
  const look = async () => (await client.call('task_status', { taskId })).result;
  const open = async () => ((await look()).structuredContent as { questions: { kind: string }[] }).questions;
  await expect
    .poll(async () => (await open()).map(({ kind }) => kind))
    .toEqual(['form', 'url', 'sampling', 'roots']);
  for (const words of ['https://example.com/sign-in', 'A rhyme?', '"roots":[', '"role":"assistant"'])
    expect(textOf(await look())).toContain(words);

  const questions = (await open()) as unknown as readonly { key: string; answer: object }[];
  const answers = Object.fromEntries(questions.map(({ key, answer }) => [key, answer]));
  await client.call('task_answer', { taskId, answers: { ...answers, form: ada } });
  const { result } = await client.call('task_wait', { taskId });
  expect(JSON.parse(textOf(result))).toEqual([
    ada,
    { action: 'accept' },
    { role: 'assistant', content: { type: 'text', text: '' }, model: '' },
    { roots: [] },
  ]);
});

describe('on 2026-07-28, a client that can be asked', () => {
  const capabilities = { elicitation: {} };

  test('is asked in the answer to its call, and its retry gets the result', async () => {
    const stage = await Stage.open();
    const client = stage.raw({ capabilities });
    const { result } = await client.call('asking');
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { name: {} } });
    const { requestState } = result;
    const answered = await client.call('asking', {}, { requestState, inputResponses: { name: ada } });
    expect(answered.result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('and has to be asked what it cannot be, is handed everything over, or what is left of it', async () => {
    const stage = await Stage.open();
    const client = stage.raw({ capabilities });
    let { result } = await client.call('asking_everything');
    // Asked one after the other, the first may have come alone.
    if (result.resultType === 'input_required') {
      expect(Object.keys(result.inputRequests)).toEqual(['form']);
      const { requestState } = result;
      ({ result } = await client.call(
        'asking_everything',
        {},
        { requestState, inputResponses: { form: ada } },
      ));
    }
    expect(result.structuredContent).toMatchObject({
      status: 'input_required',
      next: { tool: 'task_answer' },
    });
  });

  test('has a window of its own for the retry', async () => {
    const stage = await Stage.open();
    const client = stage.raw({ capabilities });
    const restMs = 20_000;
    let id = '';
    await stage.tasks.subscribe(({ taskId }) => {
      id = taskId;
    });
    const wakesAt = async () => ((await stage.tasks.get(id)) as { wakeAt?: number } | undefined)?.wakeAt;
    /** A call whose task rests for most of the window. */
    const rested = async (more: object = {}) => {
      const reply = client.call('report', { topic: 'tides', restMs }, more);
      await expect.poll(wakesAt).toBe(stage.clock.now() + restMs);
      stage.clock.advance(restMs);
      return (await reply).result;
    };
    const { requestState } = await rested();
    const result = await rested({ requestState, inputResponses: { signature: ada } });
    expect(result.structuredContent).toEqual({ topic: 'tides', signedBy: 'Ada' });
  });

  test('is asked in the answer to task_wait too', async () => {
    const stage = await Stage.open();
    const client = stage.raw({ capabilities });
    const taskId = await stage.handedOver(client, 'asking_late');
    const waiting = client.call('task_wait', { taskId });
    await stage.release(taskId);
    expect((await waiting).result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { name: {} },
    });
    const answered = await client.call('task_wait', { taskId }, { inputResponses: { name: ada } });
    expect(answered.result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('may send its retry again after that: it is told of the same task at once', async () => {
    const stage = await Stage.open();
    const client = stage.raw({ capabilities });
    const { requestState } = (await client.call('asking_early')).result;
    const retry = () => client.call('asking_early', {}, { requestState, inputResponses: { name: ada } });
    const taskId = idIn((await stage.passing(retry())).result);
    expect(idIn((await retry()).result)).toBe(taskId);
    await stage.release(taskId);
    const waited = await client.call('task_wait', { taskId });
    expect(waited.result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
    expect((await retry()).result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });
});

describe('on 2025-11-25, a client that can be asked', () => {
  const rhyming = {
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'tide, wide' },
    model: 'poet',
  };

  interface Asked {
    readonly client: OlderClient;
    readonly question: Promise<{ readonly message: string; readonly signal: AbortSignal }>;
    answer(answer: object): void;
  }

  async function asked(stage: Stage): Promise<Asked> {
    const client = await stage.older({ elicitation: {} });
    const { promise: question, resolve } = Promise.withResolvers<{ message: string; signal: AbortSignal }>();
    const { promise: answered, resolve: answer } = Promise.withResolvers<object>();
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
      resolve({ message: params.message, signal });
      return (await answered) as never;
    });
    return { client, question, answer };
  }

  test('is asked while its call is open', async () => {
    const stage = await Stage.open();
    const { client, question, answer } = await asked(stage);
    const reply = client.callTool({ name: 'asking' });
    expect((await question).message).toBe('What is your name?');
    answer(ada);
    expect(await reply).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('is handed the question over if nobody has answered within the window, and need not be asked any longer', async () => {
    const stage = await Stage.open();
    const { client, question } = await asked(stage);
    const reply = client.callTool({ name: 'asking' });
    const { signal } = await question;
    stage.clock.advance(25_000);
    const result = await reply;
    const taskId = idIn(result);
    expect(result.structuredContent).toMatchObject({
      status: 'input_required',
      questions: [{ key: 'name' }],
    });
    await expect.poll(() => signal.aborted).toBe(true);

    await client.callTool({ name: 'task_answer', arguments: { taskId, answers: { name: ada } } });
    const waited = await client.callTool({ name: 'task_wait', arguments: { taskId } });
    expect(waited).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('is asked while it waits for the task, too', async () => {
    const stage = await Stage.open();
    const { client, question, answer } = await asked(stage);
    const taskId = idIn(await stage.passing(client.callTool({ name: 'asking_late' })));
    const waiting = client.callTool({ name: 'task_wait', arguments: { taskId } });
    await stage.release(taskId);
    expect((await question).message).toBe('What is your name?');
    answer(ada);
    expect(await waiting).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('is asked whatever it declared, of any kind', async () => {
    const stage = await Stage.open();
    const client = await stage.older({ elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      'url' in params ? { action: 'accept' as const } : ada,
    );
    client.setRequestHandler(CreateMessageRequestSchema, () => rhyming);
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///tides' }] }));
    const result = await client.callTool({ name: 'asking_everything' });
    const [{ text }] = result.content as [{ text: string }];
    expect(JSON.parse(text)).toMatchObject([
      ada,
      { action: 'accept' },
      { content: { text: 'tide, wide' } },
      { roots: [{ uri: 'file:///tides' }] },
    ]);
  });

  test('is asked for its model while it waits for the task, if that is all that it declared', async () => {
    const stage = await Stage.open();
    const client = await stage.older({ sampling: {} });
    client.setRequestHandler(CreateMessageRequestSchema, () => rhyming);
    const taskId = idIn(await stage.passing(client.callTool({ name: 'sampling_late' })));
    const waiting = client.callTool({ name: 'task_wait', arguments: { taskId } });
    await stage.release(taskId);
    expect(await waiting).toMatchObject({ content: [{ text: 'tide, wide' }] });

    const asking = await client.callTool({ name: 'asking' });
    expect(asking.structuredContent).toMatchObject({ next: { tool: 'task_answer' } });
  });

  test('is asked by one of several waits, and all of them get the result', async () => {
    const stage = await Stage.open();
    const { client, question, answer } = await asked(stage);
    const taskId = idIn(await stage.passing(client.callTool({ name: 'asking_late' })));
    const wait = () => client.callTool({ name: 'task_wait', arguments: { taskId } });
    const waiting = [wait(), wait()];
    await stage.release(taskId);
    await question;
    answer(ada);
    for (const one of waiting) expect(await one).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('is told nothing of the task while its call is open', async () => {
    const stage = await Stage.open();
    const { client, question, answer } = await asked(stage);
    const heard: unknown[] = [];
    client.fallbackNotificationHandler = async (notification) => void heard.push(notification);
    const reply = client.callTool({ name: 'asking' });
    await question;
    answer(ada);
    await reply;
    expect(heard).toEqual([]);
  });

  test('and one that cannot is not, and is handed the question over', async () => {
    const stage = await Stage.open();
    const client = await stage.older();
    const result = await client.callTool({ name: 'asking' });
    expect(result.structuredContent).toMatchObject({ status: 'input_required' });
  });
});

describe('an answer that does not fit is refused in words, and loses nothing', () => {
  const refused: readonly (readonly [string, unknown, string])[] = [
    ['a missing field', { name: accept({}) }, '"name" is missing'],
    ['a field of the wrong type', { name: accept({ name: 7 }) }, '"name" must be a string'],
    ['a field that is too short', { name: accept({ name: '' }) }, 'at least 1'],
    ['no action', { name: { content: { name: 'Ada' } } }, '"action" must be'],
    ['a bare value', { name: 'Ada' }, 'it must be an object'],
    ['null', { name: null }, 'it must be an object'],
    ['a list', { name: [ada] }, 'it must be an object'],
    ['a key that was not asked', { nmae: ada }, 'Open questions: "name"'],
    ['a key beside the right one that was not asked', { name: ada, extra: ada }, 'No answer was applied'],
    ['a key of every object', JSON.parse('{"__proto__": {"action": "accept"}}'), 'Open questions: "name"'],
    ['nothing', {}, 'needs "answers"'],
    ['a text', 'Ada', 'needs "answers"'],
    ['a list of answers', [ada], 'needs "answers"'],
    ['none at all', undefined, 'needs "answers"'],
  ];

  test.each(refused)('%s', async (_, answers, problem) => {
    const stage = await Stage.open();
    const client = stage.raw();
    const taskId = idIn((await client.call('asking')).result);
    const { result } = await client.call('task_answer', { taskId, answers });
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toContain(problem);
    await client.call('task_answer', { taskId, answers: { name: ada } });
    expect((await client.call('task_wait', { taskId })).result).toMatchObject({
      content: [{ text: 'Hello, Ada!' }],
    });
  });

  test('a second answer to the same question', async () => {
    const stage = await Stage.open();
    const client = stage.raw();
    const taskId = idIn((await client.call('asking')).result);
    await client.call('task_answer', { taskId, answers: { name: ada } });
    const again = await client.call('task_answer', { taskId, answers: { name: accept({ name: 'Eve' }) } });
    expect(again.result).toMatchObject({ isError: true });
    expect(textOf(again.result)).toContain('has no open question');
    expect((await client.call('task_wait', { taskId })).result).toMatchObject({
      content: [{ text: 'Hello, Ada!' }],
    });
  });
});
