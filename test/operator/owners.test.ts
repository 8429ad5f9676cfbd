/** A viewer with an owner only sees tasks of that owner. */
import { describe, expect, test } from 'vitest';
import type { OverviewReport } from '../../src/operator/api.ts';
import { logOf } from '../audit/log.ts';
import { kinds } from '../stores/kinds.ts';
import { ada, adasToken, asked, bob, bobsToken, type Listener, listen, stage } from './stage.ts';

describe.each(kinds)('on $name', ({ place }) => {
  test('lists, counts, overviews and changes contain no other owners', async () => {
    const { tasks, list, ask, api } = await stage({ place: await place() });
    const adas = await listen(api, adasToken);
    const operators = await listen(api);
    const mine = await tasks.create('greet', { name: 'Ada' }, { owner: ada });
    const other = await tasks.create('break', {}, { owner: bob });
    await Promise.all([tasks.outcome(mine.id), tasks.outcome(other.id)]);

    expect((await list('', adasToken)).tasks.map(({ id }) => id)).toEqual([mine.id]);
    for (const query of [`?owner=${encodeURIComponent(bob)}`, `?text=${other.id}`, '?status=failed'])
      expect((await list(query, adasToken)).tasks).toEqual([]);
    expect((await ask('/count', { token: adasToken })).body).toEqual({ count: 1, isMore: false });
    expect((await ask(`/count?owner=${encodeURIComponent(bob)}`, { token: adasToken })).body).toEqual({
      count: 0,
      isMore: false,
    });
    const { body } = await ask<OverviewReport>('/overview', { token: adasToken });
    expect(body).toMatchObject({ ended: { completed: 1, failed: 0 }, failing: [] });
    expect(JSON.stringify(body)).not.toContain('break');

    await operators.until(() => operators.tasks.has(mine.id) && operators.tasks.has(other.id));
    await adas.until(() => adas.tasks.has(mine.id));
    expect(adas.tasks.has(other.id)).toBe(false);
  });

  test('a cursor is only valid for its owner, and does not reveal the number of other tasks', async () => {
    const { tasks, list, ask } = await stage({ place: await place(), works: false });
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      await tasks.create('approve', {}, { owner: bob });
      ids.unshift((await tasks.create('approve', {}, { owner: ada })).id);
    }
    const { tasks: first, nextCursor } = await list('?limit=2', adasToken);
    const { tasks: rest } = await list(`?limit=2&cursor=${nextCursor}`, adasToken);
    expect([...first, ...rest].map(({ id }) => id)).toEqual(ids);
    expect(nextCursor).not.toMatch(/^\d+$/);
    for (const [token, cursor] of [
      [bobsToken, nextCursor],
      [adasToken, '1'],
    ])
      expect(await ask(`/tasks?cursor=${cursor}`, { token })).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining('belongs to another caller') } },
      });
  });

  test('another owner’s task cannot be distinguished from an unknown one, and cannot be changed', async () => {
    const { tasks, ask } = await stage({ place: await place() });
    const { id } = await tasks.create('approve', {}, { owner: bob });
    await asked(tasks, id);
    const as = (one: string, text: string) => text.replaceAll(one, 'ID');
    for (const path of ['', '/result', '/cancel', '/retry', '/answer', '/purge']) {
      const isRead = path === '' || path === '/result';
      const body = { key: 'approval', response: { action: 'decline' } };
      const sent = { token: adasToken, ...(!isRead && { method: 'POST', body }) };
      const others = await ask(`/tasks/${id}${path}`, sent);
      const none = await ask(`/tasks/${'a'.repeat(32)}${path}`, sent);
      expect(others.status).toBe(404);
      expect(as(id, others.text)).toBe(as('a'.repeat(32), none.text));
    }
    expect((await tasks.get(id))!.phase).toBe('waiting');
    const [denied] = await logOf(tasks, { action: 'denied' });
    expect(denied).toMatchObject({ owner: ada, taskId: id });
  });

  test('an owner acts on its own tasks as a caller', async () => {
    const { tasks, act } = await stage({ place: await place() });
    const { id } = await tasks.create('break', {}, { owner: bob });
    await tasks.outcome(id);
    const { body } = await act(id, 'retry', {}, bobsToken);
    expect(body.owner).toBe(bob);
    expect(await logOf(tasks, { taskId: body.id, action: 'created' })).toMatchObject([
      { by: 'caller', owner: bob },
    ]);
  });
});

test('a removed task is only reported to viewers who were allowed to see it', async () => {
  const { tasks, act, api } = await stage();
  const { id } = await tasks.create('greet', { name: 'Bob' }, { owner: bob });
  await tasks.outcome(id);
  const [adas, bobs, operators] = await Promise.all([
    listen(api, adasToken),
    listen(api, bobsToken),
    listen(api),
  ]);
  await act(id, 'purge');
  const heard = ({ messages }: Listener) =>
    messages.some((one) => one.type === 'reset' || one.removed.includes(id));
  await operators.until(() => heard(operators));
  expect(operators.messages.some((one) => one.type === 'changes' && one.removed.includes(id))).toBe(true);
  await bobs.until(() => heard(bobs));
  expect(JSON.stringify(adas.messages)).not.toContain(id);
});
