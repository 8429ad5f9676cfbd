/** A killed worker in the history of its task. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder, untilEnd } from '../kit/lifetime.ts';
import { Program, sources } from '../kit/process.ts';
import { linesOf } from '../kit/text.ts';
import { until } from '../kit/until.ts';
import { voyage } from '../kit/voyage.ts';
import { kinds } from '../stores/kinds.ts';
import { stage } from './stage.ts';

describe.each(kinds)('on $name', ({ place: fresh }) => {
  test('a worker killed with -9 leaves a crashed pass, and the next pass resumes after its last step', async () => {
    const place = await fresh();
    const { tasks, story } = await stage({ place, tools: [voyage], works: false });
    const folder = temporaryFolder();
    const input = { log: join(folder, 'log'), gate: join(folder, 'gate') };
    const { id } = await tasks.create(voyage, input);

    const program = join(import.meta.dirname, '../kit/voyage.ts');
    const worker = untilEnd(new Program(sources(program, place)));
    await until(() => linesOf(input.log).includes('wait for wind'));
    const before = await story(id);
    expect(before.passes).toMatchObject([{ number: 1, end: 'running', to: null }]);
    expect(before.worker?.name).toBe(before.passes[0]!.worker);
    await worker.kill();

    writeFileSync(input.gate, '');
    await tasks.work();
    await tasks.outcome(id);
    const { passes, calls, task, events } = await story(id);
    expect(task).toMatchObject({ status: 'completed', passes: 2 });
    expect(passes).toMatchObject([
      { number: 1, end: 'crashed', replayed: 0 },
      { number: 2, end: 'ended', replayed: 3 },
    ]);
    expect(passes[0]!.worker).not.toBe(passes[1]!.worker);
    // It was last alive when its third step was committed, and that was before the other took over.
    const recorded = events.filter(({ event }) => event.type === 'recorded');
    expect(passes[0]!.to).toBe(recorded[2]!.at);
    expect(passes[0]!.to).toBeLessThanOrEqual(passes[1]!.from);
    expect(calls.map(({ name, pass, state, value }) => [name, pass, state, value])).toEqual([
      ['cast off', 1, 'ok', 'cast off'],
      ['set sail', 1, 'ok', 'set sail'],
      ['round the cape', 1, 'ok', 'round the cape'],
      ['wait for wind', 2, 'ok', 'wait for wind'],
      ['moor', 2, 'ok', 'moor'],
    ]);
  });
});
