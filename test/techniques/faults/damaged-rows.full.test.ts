/** One task whose record is damaged, next to others that are sound: what becomes of those? */
import { DatabaseSync } from 'node:sqlite';
import { createTasks, durableTool, type LogEntry, type TasksOptions } from 'holdfast';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Operator } from '../../../src/operator/operator.ts';
import { query } from '../../postgres/server.ts';
import { isPostgres, kinds, open } from '../../stores/kinds.ts';

describe.each(kinds)('on $name, one damaged task', ({ place }) => {
  const work = durableTool('work', { task: 'always', retention: '1s' }, async () => 'done');
  const late = durableTool('late', { task: 'always', deadline: '1s' }, async (_, task) => {
    await task.waitForEvent('never');
  });
  const parent = durableTool('parent', { task: 'always' }, async (_, task) => {
    const child = await task.start(work);
    await child;
    return 'done';
  });

  async function opened(where: string, options: Partial<TasksOptions> = {}) {
    const log: LogEntry[] = [];
    const tasks = createTasks({
      store: () => open(where),
      tools: [work, late, parent],
      minRetention: '0s',
      log: (entry) => log.push(entry),
      ...options,
    });
    onTestFinished(() => tasks.close());
    return { tasks, log };
  }

  const finished = (log: readonly LogEntry[]) => log.filter(({ event }) => event === 'finished').length;

  test('that is ready stops no other task, and is named in the log', async () => {
    const where = await place();
    const before = await opened(where);
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) ids.push((await before.tasks.create(work)).id);
    await before.tasks.close();
    const [damaged] = ids as [string];
    await damageBody(where, damaged);

    const { tasks, log } = await opened(where);
    await tasks.work({ lease: '30s', concurrency: 4 });
    await expect.poll(() => finished(log)).toBe(11);
    // Each was claimed once: no claim that was committed was dropped.
    expect(log.filter(({ event }) => event === 'recovered')).toEqual([]);
    expect(log).toContainEqual(expect.objectContaining({ level: 'error', event: 'damaged', task: damaged }));
  });

  test('however many there are, others are found behind them', async () => {
    const where = await place();
    const before = await opened(where);
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) ids.push((await before.tasks.create(work)).id);
    await before.tasks.close();
    for (const id of ids.slice(0, 5)) await damageBody(where, id);

    const { tasks, log } = await opened(where);
    await tasks.work({ lease: '30s', concurrency: 2 });
    await expect.poll(() => finished(log)).toBe(3);
  });

  test('is not looked at again and again', async () => {
    const where = await place();
    const before = await opened(where);
    const { id } = await before.tasks.create(work);
    await before.tasks.close();
    await damageBody(where, id);

    const database = await open(where);
    let tries = 0;
    const { store } = database;
    const counting = new Proxy(store, {
      get(target, name) {
        const found = Reflect.get(target, name, target);
        if (typeof found !== 'function') return found;
        return (...args: unknown[]) => {
          if (name === 'update') tries++;
          return found.apply(target, args);
        };
      },
    });
    const { tasks, log } = await opened(where, { store: { ...database, store: counting } });
    await tasks.work({ lease: '30s' });
    await expect.poll(() => log.length).toBeGreaterThan(0);
    for (let n = 0; n < 10; n++) await tasks.create(work);
    await expect.poll(() => finished(log)).toBe(10);
    // Those of the ten others, and no more than a few of its own.
    expect(tries).toBeLessThan(10 * 3 + 5);
  });

  test('past its deadline keeps no other from being ended or removed', async () => {
    const where = await place();
    const before = await opened(where);
    const { id: damaged } = await before.tasks.create(late);
    const { id: sound } = await before.tasks.create(late);
    for (let n = 0; n < 5; n++) await before.tasks.create(work);
    await before.tasks.close();
    await damageBody(where, damaged);

    const { tasks, log } = await opened(where, { tools: [work] });
    await tasks.work();
    const removed = () => log.filter(({ event }) => event === 'removed').length;
    await expect.poll(removed).toBe(5);
    await expect.poll(async () => (await tasks.get(sound))?.phase).toBe('done');
    expect(log).toContainEqual(expect.objectContaining({ event: 'damaged', task: damaged }));
  });

  test('is left out of the list of its owner, and the others are on it', async () => {
    const where = await place();
    const { tasks } = await opened(where);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await tasks.create(work)).id);
    await damageBody(where, ids[2]!);
    const first = await tasks.list({ owner: 'local', limit: 3 });
    expect(first.tasks.map(({ id }) => id)).toEqual([ids[0], ids[1]]);
    const rest = await tasks.list({ owner: 'local', limit: 3, cursor: first.nextCursor! });
    expect(rest.tasks.map(({ id }) => id)).toEqual([ids[3], ids[4]]);
    await expect(tasks.get(ids[2]!)).rejects.toThrow(ids[2]);
  });

  test('is shown to operators as damaged, among the others and alone', async () => {
    const where = await place();
    const { tasks } = await opened(where);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.unshift((await tasks.create(work)).id);
    const damaged = ids[1]!;
    await damageBody(where, damaged);
    const desk = new Operator(tasks);
    const { tasks: listed } = await desk.list({});
    expect(listed.map(({ id }) => id)).toEqual(ids);
    const shown = { id: damaged, tool: 'work', isCorrupt: true, problem: expect.stringContaining('corrupt') };
    expect(listed[1]).toMatchObject(shown);
    expect((await desk.list({ text: 'wor' })).tasks).toHaveLength(3);
    expect((await desk.list({ text: damaged })).tasks).toMatchObject([shown]);
    expect(await desk.count({})).toEqual({ count: 3, isMore: false });
    expect((await desk.overview({ windowMs: 3_600_000 })).live.queued).toBe(3);
    expect((await desk.details(damaged))?.task).toMatchObject(shown);
    expect((await desk.details(ids[0]!))?.task).toMatchObject({ id: ids[0], status: 'queued' });
  });

  test('below another is shown there, and stops only its own tree', async () => {
    const where = await place();
    const before = await opened(where, { tools: [parent] });
    const { id: root } = await before.tasks.create(parent);
    await before.tasks.work();
    const { store } = await before.tasks.opened();
    await expect.poll(async () => (await store.childIds(root)).length).toBe(1);
    const [child] = (await store.childIds(root)) as [string];
    await before.tasks.close();
    await damageBody(where, child);

    const { tasks, log } = await opened(where);
    const { id: other } = await tasks.create(parent);
    await tasks.work();
    await expect.poll(async () => (await tasks.get(other))?.phase).toBe('done');
    expect((await tasks.get(root))?.phase).not.toBe('done');
    const story = await new Operator(tasks).details(root);
    expect(story?.children).toMatchObject([{ id: child, isCorrupt: true }]);
    expect(log).toContainEqual(expect.objectContaining({ event: 'damaged', task: child }));
  });

  test('of which only the journal is damaged is blocked, and says so', async () => {
    const where = await place();
    const before = await opened(where);
    const { id } = await before.tasks.create(work);
    await before.tasks.close();
    await damageJournal(where, id);

    const { tasks, log } = await opened(where);
    await tasks.work();
    await expect.poll(async () => (await tasks.get(id))?.blocked?.message).toMatch(/corrupt/);
    const { id: other } = await tasks.create(work);
    await expect.poll(() => finished(log)).toBe(1);
    expect(other).not.toBe(id);
    expect((await new Operator(tasks).details(id))?.task).toMatchObject({ id, isCorrupt: true });
  });

  test('of which a commit is damaged keeps nobody from hearing of the others', async () => {
    const where = await place();
    const { tasks } = await opened(where);
    const heard: string[] = [];
    await tasks.subscribe(({ taskId }) => heard.push(taskId));
    const { tasks: elsewhere } = await opened(where);
    const { id: first } = await elsewhere.create(work);
    await expect.poll(() => heard).toContain(first);
    await insertDamagedCommit(where, first);
    const { id: second } = await elsewhere.create(work);
    await expect.poll(() => heard).toContain(second);
  });
});

async function damageBody(where: string, id: string): Promise<void> {
  if (isPostgres(where))
    await query(where, `update holdfast.tasks set body = left(body, 40) where id = '${id}'`);
  else run(where, 'update tasks set body = substr(body, 1, 40) where id = ?', id);
}

async function damageJournal(where: string, id: string): Promise<void> {
  const commits = (schema: string) =>
    `task = (select seq from ${schema}tasks where id = '${id}') and journal is not null`;
  if (isPostgres(where))
    await query(
      where,
      `update holdfast.commits set journal = left(journal, 3) where ${commits('holdfast.')}`,
    );
  else run(where, `update commits set journal = substr(journal, 1, 3) where ${commits('')}`);
}

/** One more, as if another process had written it. */
async function insertDamagedCommit(where: string, id: string): Promise<void> {
  if (isPostgres(where))
    await query(
      where,
      `insert into holdfast.commits (task, version, at, events, xact)
      select seq, 2, 0, '[{"ty', pg_current_xact_id() from holdfast.tasks where id = '${id}'`,
    );
  else
    run(
      where,
      `insert into commits (task, version, at, events) select seq, 2, 0, '[{"ty' from tasks where id = ?`,
      id,
    );
}

function run(file: string, sql: string, ...values: string[]): void {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.prepare(sql).run(...values);
  db.close();
}
