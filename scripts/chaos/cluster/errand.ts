/**
 * The durable tools of a cluster: an errand with parallel steps, a step that fails at first, a timer, a question, two
 * legs as subtasks (one with a timer, one with a question), and a slow step. Each attempt writes a line when it starts,
 * with all values that its handler knows, and one when it is done.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { durableTool, type StepContext, type TaskContext, type TaskId } from '../../../src/index.ts';
import { newId } from '../../../src/model/id.ts';
import { type HistoryFile, moment } from './history.ts';

/** The result of a task: the nonce of each step, and the results of its subtasks. */
export interface Returned {
  readonly steps: Readonly<Record<string, string>>;
  readonly legs?: readonly (Returned & { readonly id: TaskId })[];
}

/** The steps that each handler must run, defined separately from it. */
export const programme = {
  errand:
    'pack load#0 load#1 lash#0 lash#1 caulk cast-off sail leave-given embark land#0 land#1 haul moor'.split(
      ' ',
    ),
  legs: ['depart arrive log-in'.split(' '), 'depart arrive piloted log-in'.split(' ')],
} as const;

const caulkAttempts = 2;
const words = { message: 'Which words?', schema: z.object({ words: z.string() }) };
const input = { rest: z.number(), haul: z.number() };

export interface ToolParts {
  readonly history: HistoryFile;
  /** The name of this process. */
  readonly process: string;
  /** The version of the tools, so that workers of a run ignore the tasks of other runs. */
  readonly run: string;
}

export function clusterTools(parts: ToolParts) {
  // No deadline and a long retention, so that clock jumps do not end or delete tasks.
  const options = { version: parts.run, deadline: 'none', retention: '365d', task: 'always' } as const;

  const leg = durableTool(
    'chaos_leg',
    { ...options, inputSchema: z.object({ root: z.string(), leg: z.number(), rest: z.number() }) },
    async ({ root, leg, rest }, task) => {
      const log = new Log(parts, task, root);
      const due = (await log.step('depart')) + rest;
      await task.sleep(rest);
      await log.step('arrive', { due });
      if (leg === 1) await log.step('piloted', { received: await wordsFor(task, 'pilot') });
      await log.step('log-in');
      return { steps: log.knows };
    },
  );

  const errand = durableTool(
    'chaos_errand',
    { ...options, inputSchema: z.object(input) },
    async ({ rest, haul }, task) => {
      const log = new Log(parts, task);
      await log.step('pack');
      await Promise.all(
        [0, 1].map(async (hold) => {
          await log.step('load', { branch: hold });
          await log.step('lash', { branch: hold });
        }),
      );
      task.progress(1, 4);
      await log.step('caulk', { attempts: caulkAttempts });
      const due = (await log.step('cast-off')) + rest;
      await task.sleep(rest);
      await log.step('sail', { due });
      await log.step('leave-given', { received: await wordsFor(task, 'leave') });
      task.progress(2, 4);

      const legs = await Promise.all(
        [0, 1].map((number) => task.start(leg, { root: task.id, leg: number, rest })),
      );
      await log.step('embark');
      const returned = await Promise.all(
        legs.map(async (subtask, number) => {
          const { content } = await subtask.result();
          await log.step('land', { branch: number });
          return { id: subtask.id, ...(JSON.parse(String(content[0]!.text)) as Returned) };
        }),
      );
      task.progress(3, 4);
      await log.step('haul', { takes: haul });
      await log.step('moor');
      task.progress(4, 4);
      return { steps: log.knows, legs: returned };
    },
  );

  return [errand, leg];
}

async function wordsFor(task: TaskContext, key: string): Promise<string> {
  const answer = await task.ask(key, words);
  return answer.action === 'accept' ? answer.content.words : answer.action;
}

interface StepPlan {
  /** Distinguishes parallel steps of the same name. */
  readonly branch?: number;
  readonly received?: string;
  /** The wall-clock time before which it must not run. */
  readonly due?: number;
  readonly attempts?: number;
  readonly takes?: number;
}

/** Runs the steps of one pass, writes their lines and collects their nonces. */
class Log {
  readonly knows: Record<string, string> = {};
  readonly #parts: ToolParts;
  readonly #task: TaskContext;
  readonly #root: TaskId;

  constructor(parts: ToolParts, task: TaskContext, root = task.id) {
    this.#parts = parts;
    this.#task = task;
    this.#root = root;
  }

  /** Returns the wall-clock time at which it ran. */
  async step(name: string, plan: StepPlan = {}): Promise<number> {
    const step = plan.branch === undefined ? name : `${name}#${plan.branch}`;
    const knows = { ...this.knows };
    const run = async ({ attempt }: StepContext) => {
      const at = Date.now();
      const { id: task, pass } = this.#task;
      const { history, process } = this.#parts;
      const line = {
        task,
        root: this.#root,
        step,
        attempt,
        pass,
        process,
        nonce: newId().slice(0, 10),
        knows,
      };
      const more = {
        ...(plan.received !== undefined && { received: plan.received }),
        ...(plan.due !== undefined && { lateMs: at - plan.due }),
      };
      history.add({ what: 'began', ...line, ...more, at: moment() });
      await pause(plan.takes ?? Math.random() * 40);
      history.add({ what: 'did', ...line, ...more, at: moment() });
      if (attempt < (plan.attempts ?? 1)) throw new Error(`Attempt ${attempt} leaks.`);
      return { nonce: line.nonce, at };
    };
    const retry = { attempts: plan.attempts ?? 1, delay: 50, maxDelay: 50 };
    const { nonce, at } = await this.#task.step(name, run, { retry });
    this.knows[step] = nonce;
    return at;
  }
}
