import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTasks, durableTool } from '../../src/index.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { ManualClock, runTool } from '../../src/testing.ts';

const approval = {
  message: 'Publish?',
  schema: z.object({ ok: z.boolean(), note: z.string().default('none') }),
};

test('a question waits for its answer, which is typed by its schema', async () => {
  const tool = durableTool('publish', {}, async (_, task) => {
    const answer = await task.ask('approval', approval);
    return answer.action === 'accept' ? `${answer.content.ok} ${answer.content.note}` : answer.action;
  });
  const yes = { approval: { action: 'accept', content: { ok: true } } };
  expect((await runTool(tool, undefined, { answers: yes })).result.content[0]!.text).toBe('true none');
  const no = { approval: { action: 'decline' } };
  expect((await runTool(tool, undefined, { answers: no })).result.content[0]!.text).toBe('decline');
});

test('questions may be open at the same time, and each gets its own answer', async () => {
  const tool = durableTool('queries', {}, async (_, task) => {
    const answers = await Promise.all([
      task.ask('page', { message: 'Sign in', url: 'https://example.org' }),
      task.ask('roots', { roots: true }),
      task.ask('model', { sampling: { messages: [], maxTokens: 10 } }),
    ]);
    return { answers };
  });
  const answers = {
    page: { action: 'accept' },
    roots: { roots: [{ uri: 'file:///a' }] },
    model: { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hi' } },
  };
  const { result } = await runTool(tool, undefined, { answers, crashAfterEveryEntry: true });
  expect(JSON.parse(String(result.content[0]!.text))).toEqual({ answers: Object.values(answers) });
});

test('the same question asked twice is two questions', async () => {
  const asked: string[] = [];
  const tool = durableTool('twice', {}, async (_, task) => {
    await task.ask('sure', approval);
    await task.ask('sure', approval);
  });
  const sure = () => {
    asked.push('sure');
    return { action: 'decline' };
  };
  const { task } = await runTool(tool, undefined, { answers: { sure } });
  expect(asked).toHaveLength(2);
  expect(task.inputs.map(({ key }) => key)).toEqual(['sure', 'sure~2']);
});

test('a question that nobody answers in time is withdrawn and throws', async () => {
  const tool = durableTool('hasty', {}, async (_, task) => {
    try {
      await Promise.all([task.ask('approval', approval, { timeout: '1h' }), task.sleep('2h')]);
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
  });
  const clock = new ManualClock();
  const never = { approval: () => undefined };
  const run = runTool(tool, undefined, { clock, answers: never });
  const { result, task } = await run;
  expect(result.content[0]!.text).toBe('AskTimedOut: Nobody answered the question "approval" in time.');
  expect(task.inputs[0]!.state).toBe('withdrawn');
});

test('a question without an answer is reported to the author of the test', async () => {
  const tool = durableTool('asks', {}, async (_, task) => void (await task.ask('who', approval)));
  await expect(runTool(tool, undefined)).rejects.toThrow(
    'The handler asked "who", but the test has no answer for it: add one to `answers`.',
  );
});

test('sleeping takes no time in a test, and the right time on the clock', async () => {
  const clock = new ManualClock();
  const start = clock.now();
  const tool = durableTool('nap', { deadline: '60d' }, async (_, task) => {
    await task.sleep('30d');
    await task.sleepUntil(start + 40 * 86_400_000);
    await task.sleepUntil(new Date(start));
  });
  await runTool(tool, undefined, { clock });
  expect(clock.now() - start).toBeGreaterThanOrEqual(40 * 86_400_000);
});

test('until polls with a single entry, and gives what the check found', async () => {
  let checks = 0;
  const tool = durableTool('polls', {}, async (_, task) => {
    const found = await task.waitForCondition(
      'build is ready',
      () => (++checks < 5 ? undefined : { build: 7 }),
      {
        every: '1m',
      },
    );
    return { found };
  });
  const { result } = await runTool(tool, undefined, { crashAfterEveryEntry: true });
  expect(result.content[0]!.text).toBe('{"found":{"build":7}}');
  expect(checks).toBe(5);
});

test('until gives up after its time', async () => {
  const tool = durableTool('polls', {}, async (_, task) => {
    await task.waitForCondition('build is ready', () => false, { every: '1m', timeout: '10m' });
  });
  const { result } = await runTool(tool, undefined);
  expect(result.content[0]!.text).toBe('The condition "build is ready" was not met in time.');
});

test('an event is completed from outside, before or while the handler waits for it', async () => {
  const tool = durableTool('hook', {}, async (_, task) => {
    const paid = await task.waitForEvent('paid', { schema: z.object({ amount: z.number() }) });
    return `paid ${paid.amount}`;
  });
  const { result } = await runTool(tool, undefined, { events: { paid: { amount: 5 } } });
  expect(result.content[0]!.text).toBe('paid 5');
});

test('an event that does not fit its schema throws in the handler, live and on replay', async () => {
  const schema = z.object({ amount: z.number() });
  const tool = durableTool('hook', {}, async (_, task) => {
    const problem = await task.waitForEvent('paid', { schema }).catch((error: Error) => error);
    await task.step('go on', () => 1);
    return `${(problem as Error).name}: ${(problem as Error).message}`;
  });
  const events = { paid: { amount: 'five' } };
  const { result } = await runTool(tool, undefined, { events, crashAfterEveryEntry: true });
  expect(result.content[0]!.text).toMatch(
    /^InvalidInput: The event "paid" does not fit its schema: amount: /,
  );
});

test('an invalid schema of an event is refused', async () => {
  const tool = durableTool('hook', {}, async (_, task) => {
    await task.waitForEvent('paid', { schema: { amount: 'number' } as never });
  });
  const { result } = await runTool(tool, undefined, { events: { paid: { amount: 5 } } });
  expect(result.content[0]!.text).toMatch(/^task\.waitForEvent\(\) needs a schema such as z\.object/);
});

test('an event that does not come in time throws', async () => {
  const tool = durableTool('hook', { deadline: 'none' }, async (_, task) => {
    await task.waitForEvent('paid', { timeout: '7d' });
  });
  const { result } = await runTool(tool, undefined);
  expect(result.content[0]!.text).toBe('The event "paid" did not arrive in time.');
});

test('the first of several waits decides a race, on every pass', async () => {
  const tool = durableTool('race', {}, async (_, task) => {
    const first = await Promise.race([
      task.sleep('2h').then(() => 'late'),
      task.sleep('1h').then(() => 'soon'),
      task.waitForEvent('never').then(() => 'never'),
    ]);
    return await task.step('tell', () => first);
  });
  const { result } = await runTool(tool, undefined, { crashAfterEveryEntry: true });
  expect(result.content[0]!.text).toBe('soon');
});

test('parking neither throws into the handler nor runs its finally', async () => {
  const log: string[] = [];
  const tool = durableTool('careful', {}, async (_, task) => {
    try {
      await task.sleep('1h');
      log.push('woke');
    } catch {
      log.push('caught');
    } finally {
      log.push('finally');
    }
  });
  await runTool(tool, undefined);
  expect(log).toEqual(['woke', 'finally']);
});

test('what a caller does to its answer later is not what it answered', async () => {
  const ask = durableTool('ask', {}, async (_, task) => {
    await task.ask('n', { message: 'n?', schema: z.object({ n: z.number() }) });
    await task.waitForEvent('never');
  });
  await using tasks = createTasks({ store: () => openSqlite('memory:'), tools: [ask] });
  await tasks.work();
  const { id } = await tasks.create(ask);
  await expect.poll(async () => (await tasks.get(id))?.phase).toBe('waiting');
  const content = { n: 1 };
  await tasks.answer(id, { n: { action: 'accept', content } });
  content.n = 2;
  expect((await tasks.get(id))!.inputs[0]).toMatchObject({ response: { content: { n: 1 } } });
});
