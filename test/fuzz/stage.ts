/**
 * What bad messages could hurt: tasks that wait for answers, one that is done, a key that is taken, and calls that were
 * put aside at a question. All of it is made and watched by right requests, so that it works on any transport.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { clientCapabilitiesKey, idempotencyKey } from '../../src/protocol/dialects/2026-07-28/names.ts';
import { rightAnswers } from './answers.ts';
import type { Facts } from './methods.ts';
import { envelope, type Loose, request } from './requests.ts';
import type { Shooter } from './shots.ts';

/** Sends a right request, and gives back its result. */
export type Ask = (method: string, params: Loose) => Promise<Loose>;

export function askOver(shooter: Shooter): Ask {
  return async (method, params) => {
    const answer = await shooter.post(request('right', method, params));
    const { result, error } = answer.kind === 'answered' ? JSON.parse(answer.text) : {};
    if (!result) throw new Error(`${method} was refused: ${error?.message ?? answer.kind}`);
    return result;
  };
}

export const withoutTasks: Loose = envelope({
  [clientCapabilitiesKey]: { elicitation: { form: {} }, sampling: {} },
});

const calls: Readonly<Record<string, Loose>> = {
  ask_name: {},
  confirm_delete: { filename: 'x' },
  sample: { prompt: 'What is six times seven?' },
  multi_input: {},
  fan_out: { children: 2, depth: 1, delayMs: 0, ask: true },
};

export type Staged = Omit<Facts, 'foreign' | 'hidden' | 'wrongStates'>;

export class Stage {
  readonly staged: Staged;
  readonly #ask: Ask;
  /** Every waiting task as it was shown at first. */
  readonly #shown: ReadonlyMap<string, string>;

  private constructor(ask: Ask, staged: Staged, shown: ReadonlyMap<string, string>) {
    this.#ask = ask;
    this.staged = staged;
    this.#shown = shown;
  }

  static async set(ask: Ask): Promise<Stage> {
    const waiting: Record<string, string> = {};
    const shown = new Map<string, string>();
    for (const [name, args] of Object.entries(calls)) {
      const { taskId } = await ask('tools/call', { name, arguments: args });
      waiting[name] = taskId;
      const questions = Object.keys(rightAnswers[name]).length;
      const isAsking = ({ inputRequests = {} }: Loose) => Object.keys(inputRequests).length === questions;
      shown.set(name, lasting(await shownOnce(ask, taskId, isAsking)));
    }
    const { taskId: done } = await ask('tools/call', { name: 'throws', arguments: {} });
    await shownOnce(ask, done, hasEnded);
    const usedKey = 'k'.repeat(40);
    const _meta = envelope({ [idempotencyKey]: usedKey });
    await ask('tools/call', { name: 'nap', arguments: { ms: 2 }, _meta });
    const asked = await ask('tools/call', { name: 'ask_name', arguments: {}, _meta: withoutTasks });
    const gathering = await ask('tools/call', { name: 'test_tool_with_task', arguments: {} });
    const states = { parked: asked.requestState, gathering: gathering.requestState };
    return new Stage(ask, { waiting, done, usedKey, ...states }, shown);
  }

  /** What is no longer as it was, in words. */
  async damage(): Promise<string[]> {
    const problems: string[] = [];
    const greeting = await this.#ask('tools/call', { name: 'greet', arguments: { name: 'Ada' } });
    if (greeting.content?.[0]?.text !== 'Hello, Ada!') problems.push('a right call no longer works');
    for (const [tool, taskId] of Object.entries(this.staged.waiting)) {
      const now = lasting(await this.#ask('tasks/get', { taskId }));
      if (now !== this.#shown.get(tool)) problems.push(`the task of ${tool} has changed: ${now}`);
    }
    return problems;
  }

  /** Answers every open question as it should be; what does not end well, in words. */
  async finish(): Promise<string[]> {
    const problems: string[] = [];
    for (const [tool, taskId] of Object.entries(this.staged.waiting)) {
      await this.#ask('tasks/update', { taskId, inputResponses: rightAnswers[tool] });
      const { status } = await shownOnce(this.#ask, taskId, hasEnded);
      if (status !== 'completed') problems.push(`the task of ${tool} ended as ${status}`);
    }
    const { parked, gathering } = this.staged;
    const call = { name: 'ask_name', arguments: {}, requestState: parked, _meta: withoutTasks };
    const greeted = await this.#ask('tools/call', { ...call, inputResponses: rightAnswers.ask_name });
    if (greeted.content?.[0]?.text !== 'Hello, Ada!') problems.push('the parked call no longer goes on');
    const other = { name: 'test_tool_with_task', arguments: {}, requestState: gathering };
    const user_name = rightAnswers.ask_name.name;
    const made = await this.#ask('tools/call', { ...other, inputResponses: { user_name } });
    if (made.resultType !== 'task') problems.push('the call that asked first no longer becomes a task');
    return problems;
  }
}

export function hasEnded({ status }: Loose): boolean {
  return ['completed', 'failed', 'cancelled'].includes(status);
}

async function shownOnce(ask: Ask, taskId: string, isSo: (shown: Loose) => boolean): Promise<Loose> {
  for (;;) {
    const shown = await ask('tasks/get', { taskId });
    if (isSo(shown)) return shown;
    await pause(2);
  }
}

/** Without what depends on when one looks, and how the server introduces itself. */
function lasting({ ttlMs: _ttl, pollIntervalMs: _interval, _meta, ...rest }: Loose): string {
  return JSON.stringify(rest);
}
