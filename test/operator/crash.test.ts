/** A worker that is killed, and what the operator sees of it. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { untilEnd } from '../kit/lifetime.ts';
import { Program, sources } from '../kit/process.ts';
import { kinds } from '../stores/kinds.ts';
import { climb } from './climb.ts';
import { stage } from './stage.ts';

describe.each(kinds)('on $name', ({ place: fresh }) => {
  test('a worker that was killed with -9 is a crashed pass, and the next one goes on behind its last step', async () => {
    const place = await fresh();
    const { tasks, story } = await stage({ place, tools: [climb()], works: false });
    const { id } = await tasks.create('climb');

    const script = join(import.meta.dirname, 'climb.ts');
    const worker = untilEnd(new Program(sources(script, place)));
    expect(await worker.line()).toBe('at the third step');
    const before = await story(id);
    expect(before.passes).toMatchObject([{ number: 1, end: 'running', to: null }]);
    expect(before.holder?.name).toBe(before.passes[0]!.holder);
    await worker.kill();

    await tasks.work();
    await tasks.outcome(id);
    const { passes, calls, task, events } = await story(id);
    expect(task).toMatchObject({ standing: 'completed', passes: 2 });
    expect(passes).toMatchObject([
      { number: 1, end: 'crashed', replayed: 0 },
      { number: 2, end: 'ended', replayed: 2 },
    ]);
    expect(passes[0]!.holder).not.toBe(passes[1]!.holder);
    // It was last alive when its second step was committed, and that was before the other took over.
    const recorded = events.filter(({ event }) => event.type === 'recorded');
    expect(passes[0]!.to).toBe(recorded[1]!.at);
    expect(passes[0]!.to).toBeLessThanOrEqual(passes[1]!.from);
    expect(calls.map(({ name, pass, state, value }) => [name, pass, state, value])).toEqual([
      ['step 1', 1, 'ok', 1],
      ['step 2', 1, 'ok', 2],
      ['step 3', 2, 'ok', 3],
      ['step 4', 2, 'ok', 4],
      ['step 5', 2, 'ok', 5],
    ]);
  });
});
