/** Secret fields are redacted for operators. */
import { describe, expect, test } from 'vitest';
import { kinds } from '../stores/kinds.ts';
import { ada, adasToken, asked, operatorToken, stage } from './stage.ts';

describe.each(kinds)('on $name', ({ place }) => {
  test('arguments, answers, values and results come without their secret fields', async () => {
    const at = await place();
    const { tasks, act, ask } = await stage({ place: at });
    const { id } = await tasks.create('pay', { card: { number: '4711-xyzzy' } }, { owner: ada });
    await asked(tasks, id);
    await act(id, 'answer', { key: 'pin', response: { action: 'accept', content: { pin: '0000-xyzzy' } } });
    await tasks.outcome(id);
    for (const token of [operatorToken, adasToken])
      for (const path of [`/tasks/${id}`, `/tasks/${id}/result`, '/tasks']) {
        const { status, text } = await ask(path, { token });
        expect(status).toBe(200);
        expect(text).not.toContain('xyzzy');
        expect(text).toMatch(path === '/tasks' ? id : /sum\\?":3/);
      }
  });

  test('all values of an unknown tool are redacted', async () => {
    const at = await place();
    const first = await stage({ place: at });
    const { id } = await first.tasks.create('greet', { name: 'xyzzy' });
    await first.tasks.outcome(id);
    const second = await stage({ place: at, tools: [], works: false });
    const told = await second.story(id);
    expect(told).toMatchObject({
      arguments: '[redacted]',
      calls: [{ value: '[redacted]' }],
      outcome: { kind: 'result', value: '[redacted]' },
    });
    expect(JSON.stringify(told)).not.toContain('xyzzy');
  });
});
