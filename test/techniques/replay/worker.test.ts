import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { TaskContext } from '../../../src/engine/handlers/context.ts';
import { batchIn } from '../../../src/engine/replay/journal.ts';
import { workerDefaults } from '../../../src/engine/worker/settings.ts';
import { Worker } from '../../../src/engine/worker/worker.ts';
import { createTasks, durableTool, type TaskId } from '../../../src/index.ts';
import { openInputs } from '../../../src/model/task.ts';
import type { Change } from '../../../src/ports/change.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { ManualClock } from '../../../src/testing.ts';
import { hash, seededRandom, seedOfThisRun } from '../../kit/random.ts';
import { howToRepeat } from './checks.ts';
import { replayOf } from './host.ts';
import { mortalDatabase } from './mortal-database.ts';
import { freePlayer } from './players.ts';
import { randomProgram } from './program.ts';
import { type Effects, endOf, subtaskTool, Threw, tell, wrong } from './tell.ts';
import { someAnswer } from './world.ts';

const seed = seedOfThisRun();
const isQuick = process.env.HOLDFAST_LANE === 'quick';
const programs = isQuick ? 100 : 600;
/** A worker dies after so many commits at most. */
const longestLife = isQuick ? 25 : 85;
const atOnce = 50;
const leaseMs = 3_000;

test('random handlers on a real store survive workers that die at random, and replay to the same end', {
  timeout: 240_000,
}, async () => {
  console.log(howToRepeat(seed));
  const random = seededRandom(hash('worker', seed));
  const player = freePlayer(random);
  const clock = new ManualClock();
  const database = await openSqlite('memory:', { clock });
  const problems: string[] = [];
  const settled = new Set<string>();
  const expected: [TaskId, string][] = [];
  let entries = 0;

  const remember = ({ writes }: Change) => {
    for (const { task, journal = [] } of writes)
      for (const record of journal.filter(Array.isArray))
        for (const { call } of batchIn(record).entries) {
          settled.add(`${task.id}/${call}`);
          entries++;
        }
  };
  const effectsOf = (task: TaskContext): Effects => {
    const started: TaskId[] = [];
    return {
      step(path, step, { key, attempt }) {
        if (settled.has(key)) problems.push(`A committed step ran again: ${path} of ${task.id}`);
        return player.work(path, () => endOf(step, path, attempt));
      },
      look: (path) => player.work(path, () => (random.chance(0.5) ? { path } : false)),
      expects: (event) => expected.push([task.id, event]),
      ordinalOf(id) {
        if (!started.includes(id)) started.push(id);
        return started.indexOf(id);
      },
    };
  };
  const handler = async (program: number, task: TaskContext, effects: Effects): Promise<string> => {
    try {
      return JSON.stringify(await tell(randomProgram(program), task, effects));
    } catch (error) {
      throw error instanceof Threw ? new Error(JSON.stringify(error.story)) : error;
    }
  };
  const tool = durableTool(
    'program',
    { inputSchema: z.object({ program: z.number() }), deadline: 'none' },
    ({ program }, task) => handler(program, task, effectsOf(task)),
  );
  const tools = [tool, subtaskTool];
  const tasks = createTasks({ store: database, tools, clock });
  const worker = () => {
    const mortal = mortalDatabase(database, 5 + random.below(longestLife - 5), remember);
    const settings = { ...workerDefaults, concurrency: atOnce, leaseMs, lingerMs: 0 };
    return { mortal, worker: new Worker(mortal, clock, tools, settings) };
  };

  const living = new Map<TaskId, number>();
  for (let n = 0; n < programs; n++)
    living.set((await tasks.create(tool, { program: seed + n })).id, seed + n);
  let deaths = 0;
  let passes = 0;
  let current = worker();
  while (living.size > 0) {
    await pause(1);
    if (current.mortal.isDead()) {
      deaths++;
      await current.worker.stop();
      current = worker();
      // Its claims last for three leases, in which the next worker looks at them again and again.
      for (let second = 0; second < 3 * (leaseMs / 1_000) + 1; second++) {
        clock.advance(1_000);
        await pause(1);
      }
    } else if (random.chance(0.02)) {
      await current.worker.stop();
      current = worker();
    }
    clock.advance(random.below(5));
    for (const [id, event] of expected.splice(0)) await tasks.sendEvent(id, event, { event }).catch(() => {});
    for (const [id, program] of living) {
      const task = (await tasks.get(id))!;
      for (const { key, request } of random.chance(0.3) ? openInputs(task) : [])
        await tasks.answer(id, { [key]: someAnswer(request, random.below(1_000)) });
      if (task.phase !== 'done') continue;
      living.delete(id);
      passes += task.epoch;
      const { value } = task.outcome as unknown as { value: { content: [{ text: string }] } };
      const end = await replayOf(await database.store.journal(id), task, (context) =>
        handler(program, context, effectsOf(context)),
      );
      const replayed =
        end.type === 'returned' ? end.value : 'error' in end ? String((end.error as Error).message) : end;
      if (value.content[0].text.includes(wrong)) problems.push(value.content[0].text);
      if (replayed !== value.content[0].text)
        problems.push(
          `Program ${program} replays to another end: ${value.content[0].text}, then ${replayed}`,
        );
    }
  }
  console.log(`${programs} programs, ${passes} passes, ${entries} entries, ${deaths} workers died`);
  await current.worker.stop();
  await tasks.close();
  expect(problems.slice(0, 10)).toEqual([]);
  expect(deaths).toBeGreaterThan(3);
});
