/** What TypeScript infers for users. `tsc --noEmit` is what examines this file; nothing in it ever runs. */
import type {
  CallToolResult,
  CreateMessageResult,
  GetPromptResult,
  ReadResourceResult,
} from '@modelcontextprotocol/client';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Answer, AnswerQuestion, Question, SamplingAnswer, TaskClient } from '../src/client.ts';
import { complete, fail } from '../src/engine/rules/transitions.ts';
import type {
  ActiveTask,
  DoneTask,
  Duration,
  Failed,
  Outcome,
  Phase,
  Refusal,
  Success,
  Task,
  TaskEvent,
} from '../src/index.ts';
import { durableTool } from '../src/index.ts';
import type { Change, Claim, Family, Lineage, Store, Verdict } from '../src/store.ts';

declare const client: TaskClient;
declare const task: Task;
declare const outcome: Outcome;
declare const event: TaskEvent;
declare const store: Store;
declare const claim: Claim;
declare const lineage: Lineage;
declare const family: Family;
declare const success: Success;
declare const failed: Failed;

test('a duration is a number of milliseconds, or a number with a unit', () => {
  [500, '500ms', '30s', '1.5h', '5m', '7d'] satisfies Duration[];
  // @ts-expect-error a number in quotes needs a unit
  '30' satisfies Duration;
  // @ts-expect-error there are no weeks
  '2w' satisfies Duration;
  // @ts-expect-error a unit needs a number
  's' satisfies Duration;
});

test('a phase is one of four words', () => {
  expectTypeOf<Phase>().toEqualTypeOf<'queued' | 'running' | 'waiting' | 'done'>();
});

test('a task that is done has an outcome and can no longer be claimed or woken', () => {
  if (task.phase !== 'done') return;
  expectTypeOf(task).toEqualTypeOf<DoneTask>();
  expectTypeOf(task.outcome).toEqualTypeOf<Outcome>();
  expectTypeOf(task.finishedAt).toEqualTypeOf<number>();
  expectTypeOf(task).not.toHaveProperty('worker');
  expectTypeOf(task).not.toHaveProperty('wakeAt');
  expectTypeOf(task).not.toHaveProperty('heldOutcome');
});

test('a task in any other phase has no outcome', () => {
  if (task.phase === 'done') return;
  expectTypeOf(task).toEqualTypeOf<ActiveTask>();
  expectTypeOf(task.wakeAt).toEqualTypeOf<number | null>();
  expectTypeOf(task).not.toHaveProperty('outcome');
  expectTypeOf(task).not.toHaveProperty('finishedAt');
});

test('a task whose phase was not looked at shows neither', () => {
  // @ts-expect-error only a task that is done has an outcome
  void task.outcome;
  // @ts-expect-error only a task that is not done has a worker
  void task.worker;
});

test('only a waiting task may have an open input', () => {
  type States<P extends Phase> = Extract<Task, { phase: P }>['inputs'][number]['state'];
  expectTypeOf<States<'queued'>>().toEqualTypeOf<never>();
  expectTypeOf<States<'running'>>().toEqualTypeOf<'answered' | 'withdrawn'>();
  expectTypeOf<States<'waiting'>>().toEqualTypeOf<'open' | 'answered' | 'withdrawn'>();
  expectTypeOf<States<'done'>>().toEqualTypeOf<'answered' | 'withdrawn'>();
});

test('an outcome narrows by its kind', () => {
  if (outcome.kind === 'result') expectTypeOf(outcome.isError).toEqualTypeOf<boolean>();
  else expectTypeOf(outcome.kind).toEqualTypeOf<'failure' | 'cancelled' | 'lost'>();
  if (outcome.kind === 'failure') expectTypeOf(outcome.message).toEqualTypeOf<string>();
  if (outcome.kind === 'cancelled') expectTypeOf(outcome.reason).toEqualTypeOf<string | undefined>();
});

test('a result that is no error is a success, and all else has failed', () => {
  if (outcome.kind === 'result' && !outcome.isError) expectTypeOf(outcome).toEqualTypeOf<Success>();
  else expectTypeOf(outcome).toEqualTypeOf<Failed>();
});

test('a rule is shown as much of the tree as the update reaches', () => {
  store.update('task', 'id', (subject) => {
    expectTypeOf(subject).toEqualTypeOf<Task>();
    return {} as Verdict;
  });
  store.update('lineage', 'id', (subject) => {
    expectTypeOf(subject).toEqualTypeOf<Lineage>();
    return {} as Verdict;
  });
  store.update('family', 'id', (subject) => {
    expectTypeOf(subject).toEqualTypeOf<Family>();
    return {} as Verdict;
  });
  // @ts-expect-error ending a task must see its subtasks, and a lineage does not
  store.update('lineage', 'id', (subject) => fail(subject, claim, failed, 0));
  // @ts-expect-error there is no such reach
  store.update('forest', 'id', () => ({}) as Verdict);
});

test('a verdict is a change or a refusal, and an update gives the change', () => {
  expectTypeOf<Verdict>().toEqualTypeOf<Change | Refusal>();
  expectTypeOf(store.update<'task'>).returns.resolves.toEqualTypeOf<Change>();
});

test('a task completes with a success only, and fails with anything else', () => {
  complete(lineage, claim, success, 0);
  fail(family, claim, failed, 0);
  // @ts-expect-error an error result is no success
  complete(lineage, claim, { kind: 'result', isError: true, value: null }, 0);
  // @ts-expect-error a failure is no success
  complete(lineage, claim, failed, 0);
  // @ts-expect-error a success is no failure
  fail(family, claim, success, 0);
});

test('an event narrows by its type', () => {
  switch (event.type) {
    case 'claimed':
      expectTypeOf(event.epoch).toEqualTypeOf<number>();
      expectTypeOf(event.takenFrom).toEqualTypeOf<string | undefined>();
      break;
    case 'asked':
    case 'answered':
    case 'withdrawn':
      expectTypeOf(event.key).toEqualTypeOf<string>();
      break;
    case 'childDone':
    case 'finished':
      expectTypeOf(event.outcome).toEqualTypeOf<Outcome['kind']>();
      break;
    case 'created':
      expectTypeOf(event).toEqualTypeOf<{ readonly type: 'created' }>();
      break;
  }
});

test('what a client gets is typed as the results of the SDK are', async () => {
  expectTypeOf(await client.callTool({ name: 'greet' })).toEqualTypeOf<CallToolResult>();
  expectTypeOf(await client.readResource({ uri: 'a://b' })).toEqualTypeOf<ReadResourceResult>();
  expectTypeOf(await client.getPrompt({ name: 'brief' })).toEqualTypeOf<GetPromptResult>();
});

const weigh = durableTool(
  'weigh',
  {
    inputSchema: z.object({ source: z.string(), scale: z.number().default(1) }),
    outputSchema: z.object({ grams: z.number() }),
  },
  async () => ({ grams: 1 }),
);
const hello = durableTool('hello', {}, async () => 'Hello.');
const tools = [weigh, hello];
const named = { weigh, hello, limit: 7 };
declare const typed: TaskClient<typeof tools>;
declare const byModule: TaskClient<typeof named>;

test('a client that knows the tools of its server types calls', async () => {
  const result = await typed.callTool({ name: 'weigh', arguments: { source: 'almanac' } });
  // @ts-expect-error an error result has no output
  void result.structuredContent.grams;
  if (!result.isError) expectTypeOf(result.structuredContent.grams).toEqualTypeOf<number>();
  await typed.callTool({ name: 'hello' });
  const handle = await typed.call('weigh', { source: 'almanac' }, { ttl: '1h' });
  const ended = await handle.result();
  if (!ended.isError) expectTypeOf(ended.structuredContent.grams).toEqualTypeOf<number>();
  await byModule.callTool({ name: 'weigh', arguments: { source: 'almanac', scale: 2 } });
});

test('a client that knows the tools of its server refuses wrong calls', () => {
  // @ts-expect-error there is no such tool
  void typed.callTool({ name: 'wiegh', arguments: { source: 'almanac' } });
  // @ts-expect-error the arguments are missing
  void typed.callTool({ name: 'weigh' });
  // @ts-expect-error the source is no number
  void typed.callTool({ name: 'weigh', arguments: { source: 7 } });
  // @ts-expect-error the source is missing
  void typed.call('weigh', {});
  // @ts-expect-error a tool without a schema takes no input
  void typed.call('hello', { source: 'almanac' });
  // @ts-expect-error there is no such tool
  void byModule.call('limit');
});

test('an answer is one of those that the protocol has', () => {
  const answer: AnswerQuestion = ({ kind }) =>
    kind === 'form' ? { action: 'accept', content: { ok: true } } : { action: 'decline' };
  void answer;
  // @ts-expect-error there is no "acept"
  const mistyped: AnswerQuestion = () => ({ action: 'acept', content: { ok: true } });
  void mistyped;
  expectTypeOf<CreateMessageResult>().toExtend<Pick<SamplingAnswer, 'role' | 'model'>>();
  expectTypeOf<Extract<Question, { kind: 'sampling' }>['params']['maxTokens']>().toEqualTypeOf<number>();
  expectTypeOf<{ action: 'accept'; content: { ok: true } }>().toExtend<Answer>();
});
