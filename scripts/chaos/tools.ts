/**
 * The durable tools under test: a voyage of 33 steps with questions, timers, retries, a poll, events, a race, branches
 * with equal names, and two levels of subtasks. Every step writes a line. A task returns the nonces of its steps, so
 * that they can be compared with the files.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import {
  AskTimedOut,
  durableTool,
  type JsonObject,
  type StepContext,
  type TaskContext,
} from '../../src/index.ts';
import { newId } from '../../src/model/id.ts';
import { appendLine, type StepValue } from './step-file.ts';

const caulkAttempts = 3;
const caulkDelayMs = 40;

/** The result of a task: the nonce of each step that it ran. */
export type Seen = Record<string, string>;

const words = { message: 'Which words?', schema: z.object({ words: z.string() }) };

/** `run` is the version of the tools, so that workers of a run ignore the tasks of other runs. */
export function chaosTools({ folder, run }: { readonly folder: string; readonly run: string }) {
  const options = { version: run, deadline: '1h' } as const;
  const logOf = (task: TaskContext) => new Log(folder, task);

  const crew = durableTool('chaos_crew', options, async (_, task) => {
    const log = logOf(task);
    await log.step('muster');
    await log.step('berth');
    return log.seen;
  });

  const leg = durableTool(
    'chaos_leg',
    { ...options, inputSchema: z.object({ leg: z.number(), rest: z.number() }) },
    async ({ leg, rest }, task) => {
      const log = logOf(task);
      await log.step('depart', { sleeps: rest });
      await task.sleep(rest);
      await log.step('arrive');
      if (leg === 0) await log.step('piloted', { received: await wordsFor(task, 'pilot') });
      else {
        const subtask = await task.start(crew);
        await log.step('sign-on', { subtasks: [subtask.id] });
        await log.step('signed-on', { returned: (await subtask.result()).content[0]!.text as string });
      }
      await log.step('log-in');
      return log.seen;
    },
  );

  const voyage = durableTool(
    'chaos_voyage',
    { ...options, inputSchema: z.object({ n: z.number(), rest: z.number() }) },
    async ({ rest }, task) => {
      const log = logOf(task);
      await log.step('chart');
      task.progress(1, 10, 'Charted');
      await log.step('provision');
      await log.step('hire');
      const holds = [0, 1, 2, 3].map(async (hold) => {
        await log.step('load', {}, hold);
        await log.step('lash', {}, hold);
      });
      await Promise.all(holds);
      await log.failing('caulk', caulkAttempts, caulkDelayMs);

      await log.step('cast-off', { sleeps: rest });
      await task.sleep(rest);
      await log.step('sail');
      await log.step('leave-given', { received: await wordsFor(task, 'leave') });

      const legs = await Promise.all([0, 1].map((number) => task.start(leg, { leg: number, rest })));
      await log.step('embark', { subtasks: legs.map(({ id }) => id) });
      await Promise.all([
        ...legs.map(async (subtask, number) => {
          const { content } = await subtask.result();
          await log.step('land', { returned: content[0]!.text as string }, number);
        }),
        (async () => {
          for (const watch of [0, 1, 2]) await log.step('watch', {}, watch);
        })(),
        (async () => {
          await log.step('heave-to', { sleeps: rest });
          await task.sleep(rest);
          await log.step('make-sail');
        })(),
        (async () =>
          log.step('cleared', { received: await task.waitForEvent('cleared', { schema: z.string() }) }))(),
      ]);

      const { risesAt } = await log.step('sound', { risesAt: () => Date.now() + rest });
      await task.waitForCondition(
        'tide',
        (context) => log.poll('tide', context, Date.now() >= Number(risesAt)),
        {
          every: 50,
        },
      );
      await log.step('cross-the-bar');

      const winner = await Promise.race([
        task.waitForEvent('signal').then(() => 'signal'),
        task.sleep(2 * rest).then(() => 'timer'),
      ]);
      await log.step('raced', { winner });

      await log.step('hail', { sleeps: rest });
      const answer = await task.ask('unheard', words, { timeout: rest }).catch((error: unknown) => error);
      await log.step('unanswered', { timedOut: answer instanceof AskTimedOut });
      for (const tack of [0, 1]) {
        await log.step('tack', { sleeps: rest }, tack);
        await task.sleep(rest);
      }
      await log.step('leave-again', { received: await wordsFor(task, 'leave') });
      await log.step('moor');
      return log.seen;
    },
  );

  return { voyage, leg, crew };
}

async function wordsFor(task: TaskContext, key: string): Promise<string> {
  const answer = await task.ask(key, words);
  return answer.action === 'accept' ? answer.content.words : answer.action;
}

/** Writes the lines of one pass, and collects the nonces that the handler received. */
class Log {
  readonly seen: Seen = {};
  readonly #folder: string;
  readonly #task: TaskContext;

  constructor(folder: string, task: TaskContext) {
    this.#folder = folder;
    this.#task = task;
  }

  /** A step that writes its line in the middle of its work. */
  async step(
    name: string,
    more: JsonObject | Record<string, () => number> = {},
    branch?: number,
  ): Promise<StepValue> {
    const step = branch === undefined ? name : `${name}#${branch}`;
    const value = await this.#task.step(name, async (context) => {
      await aMoment();
      const written = this.#write(step, context, more);
      await aMoment();
      return written;
    });
    this.seen[step] = value.nonce;
    return value;
  }

  /** A step that succeeds at its last attempt. */
  async failing(step: string, attempts: number, delay: number): Promise<void> {
    const run = async (context: StepContext) => {
      const written = this.#write(step, context, {});
      await aMoment();
      if (context.attempt < attempts) throw new Error(`Attempt ${context.attempt} leaks.`);
      return written;
    };
    const { nonce } = await this.#task.step(step, run, { retry: { attempts, delay, maxDelay: delay } });
    this.seen[step] = nonce;
  }

  /** One attempt of a poll. */
  poll(step: string, context: StepContext, result: boolean): boolean {
    this.#write(step, context, { result });
    return result;
  }

  #write(
    step: string,
    { attempt, key }: StepContext,
    more: JsonObject | Record<string, () => number>,
  ): StepValue {
    const facts = Object.entries(more).map(([fact, is]) => [fact, typeof is === 'function' ? is() : is]);
    const value = { nonce: newId().slice(0, 10), ...Object.fromEntries(facts) };
    const { id: task, pass } = this.#task;
    const { pid } = process;
    appendLine(this.#folder, { task, step, attempt, pass, pid, key, at: Date.now(), value });
    return value;
  }
}

function aMoment(): Promise<void> {
  return pause(Math.random() * 20);
}
