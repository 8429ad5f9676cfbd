import { expect, test } from 'vitest';
import { z } from 'zod';
import { claim } from '../../src/engine/rules/transitions.ts';
import { createTasks, durableTool, type LogEntry } from '../../src/index.ts';
import { openSqlite, sqlite } from '../../src/sqlite.ts';

const tool = durableTool(
  'polish',
  { inputSchema: z.object({ what: z.string() }) },
  async ({ what }, task) => {
    task.setStatusMessage(`polishing ${what}`);
    let tries = 0;
    await task.step(
      'rub',
      () => {
        if (++tries === 1) throw new Error(`the ${what} slipped`);
      },
      { retry: { attempts: 2, delay: '1ms' } },
    );
    await task.ask('shiny', { message: `Is the ${what} shiny?`, schema: z.object({ yes: z.boolean() }) });
    return what;
  },
);

test('a log hears what happens to tasks, of whose tasks, and never what they are about', async () => {
  const entries: LogEntry[] = [];
  await using tasks = createTasks({
    store: sqlite('memory:'),
    tools: [tool],
    log: (entry) => entries.push(entry),
  });
  const asked = Promise.withResolvers<void>();
  await tasks.subscribe(({ events }) => events.some(({ type }) => type === 'asked') && asked.resolve());
  await tasks.work();
  const { id } = await tasks.create(tool, { what: 'secret-lamp' }, { owner: 'ann' });
  await asked.promise;
  await tasks.answer(id, { shiny: { action: 'accept', content: { yes: true } } });
  await tasks.outcome(id);
  const loud = entries.filter(({ level }) => level !== 'debug');
  expect(loud.map(({ level, event }) => `${level} ${event}`)).toEqual([
    'info created',
    'warn retrying',
    'info asked',
    'info answered',
    'info finished',
  ]);
  for (const entry of entries) expect(entry).toMatchObject({ task: id, tool: 'polish', owner: 'ann' });
  expect(loud.at(-1)!.detail).toMatchObject({ outcome: 'result' });
  expect(JSON.stringify(entries)).not.toMatch(/lamp|shiny\?/);
});

test('a worker whose task another has claimed meanwhile says so, and with which pass it was in vain', async () => {
  const entries: LogEntry[] = [];
  const database = await openSqlite('memory:');
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow = durableTool('slow', {}, async (_, task) => {
    await task.step('wait', () => {
      begun.resolve();
      return goOn.promise;
    });
  });
  const log = (entry: LogEntry) => {
    entries.push(entry);
    if (entry.event === 'superseded') said.resolve();
  };
  const said = Promise.withResolvers<void>();
  await using tasks = createTasks({ store: database, tools: [slow], log });
  await tasks.work();
  const { id } = await tasks.create(slow);
  await begun.promise;
  const later = Date.now() + 60_000;
  const other = { name: 'another worker', leaseMs: 60_000 };
  await database.store.update('task', id, (task) => claim(task, other, later, { name: database.queue.name }));
  goOn.resolve();
  await said.promise;
  expect(entries.at(-1)).toMatchObject({ level: 'warn', event: 'superseded', task: id, detail: { pass: 1 } });
});

test('a log that throws harms no task', async () => {
  const log = () => {
    throw new Error('the disk of the log is full');
  };
  await using tasks = createTasks({ store: sqlite('memory:'), tools: [tool], log });
  const { id } = await tasks.create(tool, { what: 'lamp' });
  expect((await tasks.cancel(id)).phase).toBe('done');
});
