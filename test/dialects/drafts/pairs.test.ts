/** Every dialect at once on one server: what is made in one is read, answered and cancelled in another by its owner. */
import { describe, expect, test } from 'vitest';
import { serving } from './peer.ts';
import { dialects, type Scene, viewOf } from './views.ts';

const tokens = { 'token-of-ada': 'ada', 'token-of-bob': 'bob' };

async function scene(): Promise<{ ada: Scene; bob: Scene }> {
  const { url, tasks } = await serving({ drafts: 'all', tokens });
  const of = (name: string) => ({ url, tasks, token: `token-of-${name}`, owner: `owner:${name}` });
  return { ada: of('ada'), bob: of('bob') };
}

/** An error result is a failure in these, and completes the task in the others. */
const failsWithResult = (name: string) => name !== 'SEP-1686' && !name.startsWith('2026-07-28');

describe.each(dialects)('made in %s', (maker) => {
  test.each(dialects)('read in %s', async (reader) => {
    const { ada, bob } = await scene();
    const mine = await viewOf(maker, ada);
    // Ids that a client made up mean something in its session alone.
    const other = reader === maker ? mine : await viewOf(reader, ada);
    const stranger = await viewOf(reader, bob);

    const asking = await mine.start('ask_name');
    await expect.poll(() => other.look(asking)).toBe('input_required');
    expect(await stranger.look(asking)).toBe(-32602);
    // The call of SEP-1686 is still open, and its stream has the question.
    const isElsewhere = maker === 'SEP-1686' && other.isAsked;
    const content = { name: 'Ada' };
    if (other.answer && !isElsewhere) await other.answer(asking, content);
    else await ada.tasks.answer(asking, { name: { action: 'accept', content } });
    await expect.poll(() => mine.look(asking)).toBe('completed');
    expect(await mine.outcome(asking)).toBe('Hello, Ada!');
    expect(await other.outcome(asking)).toBe('Hello, Ada!');

    const failing = await mine.start('throws');
    await expect.poll(() => other.look(failing)).toBe(failsWithResult(reader) ? 'failed' : 'completed');
    expect(await mine.look(failing)).toBe(failsWithResult(maker) ? 'failed' : 'completed');

    const napping = await mine.start('nap', { ms: 3_600_000 });
    expect(['submitted', 'working']).toContain(await other.look(napping));
    if (stranger.cancel) await stranger.cancel(napping);
    expect(['submitted', 'working']).toContain(await mine.look(napping));
    if (other.cancel) await other.cancel(napping);
    else await ada.tasks.cancel(napping);
    expect([await mine.look(napping), await other.look(napping)]).toEqual(['cancelled', 'cancelled']);
  });
});
