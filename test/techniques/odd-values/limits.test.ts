/** Very many, very long, and for ever: a task that goes too far is refused, and nobody else feels it. */
import { setTimeout as pause } from 'node:timers/promises';
import { createTasks, type DurableTool, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { runTool } from 'holdfast/testing';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { withCommands } from '../../../src/engine/database/decorator.ts';
import { batchIn } from '../../../src/engine/replay/journal.ts';
import { hasCode } from '../../../src/model/errors.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { complaintOf } from './in-process.ts';

const neighbour = durableTool('neighbour', { task: 'always' }, async () => 'well');

async function working(...tools: DurableTool[]) {
  const tasks = createTasks({ store: sqlite('memory:'), tools: [neighbour, ...tools] });
  onTestFinished(() => tasks.close());
  await tasks.work();
  return tasks;
}

test.each(['24d', '25d', '30d', '400d'] as const)(
  'a step may have a time-out of %s: it does not fire at once',
  async (timeout) => {
    const slow = durableTool('slow', { task: 'always', deadline: 'none' }, (_, task) =>
      task.step('slow', () => pause(30, 'done'), { timeout }),
    );
    const tasks = await working(slow);
    const { id } = await tasks.create(slow);
    expect(await tasks.outcome(id)).toMatchObject({ isError: false, value: { content: [{ text: 'done' }] } });
  },
);

test('eight reminders at dates that are none leave the worker to others', async () => {
  const remind = durableTool(
    'remind',
    { task: 'always', inputSchema: z.object({ when: z.string() }) },
    async ({ when }, task) => {
      await task.sleepUntil(new Date(when));
    },
  );
  const tasks = await working(remind);
  const reminders = await Promise.all(
    Array.from({ length: 8 }, () => tasks.create(remind, { when: 'tomorrow at noon' })),
  );
  const { id } = await tasks.create(neighbour);
  expect(await tasks.outcome(id)).toMatchObject({ isError: false });
  for (const reminder of reminders)
    expect(complaintOf(await tasks.outcome(reminder.id))).toBe(
      'task.sleepUntil() needs a valid date, or milliseconds since 1970, not an invalid date.',
    );
});

test.each([
  [Number.NaN, 'NaN'],
  [-1, '-1'],
  [Infinity, 'Infinity'],
  ['soon', '"soon"'],
] as const)(
  'task.sleep(%s) is refused by a message that names the call and the value',
  async (given, text) => {
    const sleepy = durableTool('sleepy', {}, async (_, task) => {
      await task.sleep(given as never);
    });
    const { outcome } = await runTool(sleepy, undefined);
    expect(complaintOf(outcome)).toContain(`task.sleep() (duration): ${text} is not a duration`);
  },
);

test('a question for a model cannot be one for a person', async () => {
  const confused = durableTool('confused', {}, async (_, task) => {
    await task.ask('rhyme', { sampling: { messages: [], maxTokens: 1 } }, { person: true } as never);
  });
  const { outcome } = await runTool(confused, undefined);
  expect(complaintOf(outcome)).toBe('task.ask() needs a form or a URL with `person: true`, not "sampling".');
});

test('a hundred and fifty thousand open waits are refused, and a handler may catch that', async () => {
  const many = durableTool('many', { task: 'always', maxJournalEntries: 1_000_000 }, async (_, task) => {
    await Promise.all(Array.from({ length: 150_000 }, () => task.sleep('1h')));
  });
  const careful = durableTool('careful', { task: 'always' }, async (_, task) => {
    const waits: Promise<void>[] = [];
    for (let n = 0; n < 20_000; n++) waits.push(task.sleep('1h'));
    return await task.sleep('1h').catch((error) => (hasCode(error, 'OUT_OF_BOUNDS') ? 'caught' : 'missed'));
  });
  const tasks = await working(many, careful as never);
  const { id } = await tasks.create(many);
  expect(complaintOf(await tasks.outcome(id))).toContain('at most 20000 (maxOpenCalls)');
  const other = await tasks.create(careful);
  expect(await tasks.outcome(other.id)).toMatchObject({ value: { content: [{ text: 'caught' }] } });
  const beside = await tasks.create(neighbour);
  expect(await tasks.outcome(beside.id)).toMatchObject({ isError: false });
});

test('failed attempts without end are refused once the journal is full, and what they said is cut', async () => {
  const stubborn = durableTool('stubborn', { task: 'always', maxJournalEntries: 1_500 }, (_, task) =>
    task.step(
      'never',
      () => {
        throw new Error('no '.repeat(10_000));
      },
      { retry: { attempts: 1_000_000, delay: 0 } },
    ),
  );
  const tasks = await working(stubborn);
  const { id } = await tasks.create(stubborn);
  expect(complaintOf(await tasks.outcome(id))).toMatch(
    /beyond 1500 entries \(maxJournalEntries\), 1501 of them failed attempts/,
  );
  const { store } = await tasks.opened();
  const [, ...batches] = await store.journal(id);
  const attempts = batches.flatMap((batch) => batchIn(batch).attempts);
  expect(attempts).toHaveLength(1_500);
  for (const { message, retryAt } of attempts) {
    expect(message.length).toBeLessThanOrEqual(1_000);
    expect(retryAt).toEqual(expect.any(Number));
  }
});

test('a pass that only waits parks, however often it is woken for nothing', async () => {
  const patient = durableTool('patient', { task: 'always' }, async (_, task) => {
    await task.waitForEvent('never');
  });
  const tasks = await working(patient);
  const { store } = await tasks.opened();
  const { id } = await tasks.create(patient);
  const parked = Promise.withResolvers<void>();
  store.subscribe(({ taskId, events }) => {
    if (taskId === id && events.some(({ type }) => type === 'parked')) parked.resolve();
  });
  let isOver = false;
  const waking = (async () => {
    for (let n = 0; n < 1_000 && !isOver; n++) {
      await tasks.sendEvent(id, `other ${n}`, null);
      await pause(10);
    }
  })();
  await expect(Promise.race([parked.promise.then(() => 'parked'), waking])).resolves.toBe('parked');
  isOver = true;
  await waking;
});

test('a tool that fails at failing ends its task, not the process', async () => {
  const broken = (name: string, failure: () => unknown) => ({
    ...durableTool(name, { task: 'always' }, () => Promise.reject(new Error('first'))),
    failure: failure as never,
  });
  const throws = broken('throws', () => {
    throw Object.create(null);
  });
  const unstorable = broken('unstorable', () => ({ kind: 'failure', message: 10n }));
  const tasks = await working(throws, unstorable);
  expect(complaintOf(await tasks.outcome((await tasks.create(throws)).id))).toMatch(/not an error/);
  expect(complaintOf(await tasks.outcome((await tasks.create(unstorable)).id))).toMatch(/a bigint/);
});

test('a commit that fails in a way that no store knows ends its task with a message', async () => {
  const inner = await openSqlite('memory:');
  const { store } = inner;
  const doomed = new Set<string>();
  const database = withCommands(inner, {
    create: (bearing, decide) => store.create(bearing, decide),
    update: (reach, id, decide) =>
      reach === 'task' && doomed.has(id)
        ? Promise.reject(new TypeError('Do not know how'))
        : store.update(reach, id, decide),
  });
  const stepping = durableTool('stepping', { task: 'always' }, (_, task) =>
    task.step('one', () => {
      doomed.add(task.id);
      return 'one';
    }),
  );
  const tasks = createTasks({ store: database, tools: [stepping, neighbour] });
  onTestFinished(async () => {
    await tasks.close();
    await inner.close();
  });
  await tasks.work();
  const { id } = await tasks.create(stepping);
  expect(await tasks.outcome(id)).toEqual({
    kind: 'failure',
    message: 'The result of this task could not be stored: Do not know how',
  });
  const { id: other } = await tasks.create(neighbour);
  expect(await tasks.outcome(other)).toMatchObject({ isError: false });
});
