/**
 * What bad messages could hurt: tasks that wait for answers, one that is done, a key that is taken, and calls that were
 * put aside at a question. All of it is made and watched by right requests, so that it works on any transport.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { clientCapabilitiesKey, idempotencyKey } from '../../../src/dialects/2026-07-28/names.ts';
import { rightAnswers } from './answers.ts';
import { envelope, type Loose, request } from './requests.ts';
import type { Shooter } from './shots.ts';

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

export type Stage = Awaited<ReturnType<typeof setStage>>;
export type Staged = Stage['staged'];

export async function setStage(ask: Ask) {
  const call = (name: string, args: Loose, more: Loose = {}) =>
    ask('tools/call', { name, arguments: args, ...more });
  const waiting: Record<string, string> = {};
  /** Every waiting task as it was shown at first. */
  const atFirst = new Map<string, string>();
  for (const [name, args] of Object.entries(calls)) {
    const { taskId } = await call(name, args);
    waiting[name] = taskId;
    const questions = Object.keys(rightAnswers[name]).length;
    const isAsking = ({ inputRequests = {} }: Loose) => Object.keys(inputRequests).length === questions;
    atFirst.set(name, lasting(await shownOnce(ask, { taskId }, isAsking)));
  }
  const { taskId: done } = await call('throws', {});
  await shownOnce(ask, { taskId: done }, hasEnded);
  const usedKey = 'k'.repeat(40);
  await call('nap', { ms: 2 }, { _meta: envelope({ [idempotencyKey]: usedKey }) });
  const { requestState: parked } = await call('ask_name', {}, { _meta: withoutTasks });
  const { requestState: gathering } = await call('test_tool_with_task', {});
  /** By tool, tasks that wait for answers; a task that is done; a key that is taken; calls that asked, by their states. */
  const staged = { waiting, done: `${done}`, usedKey, parked: `${parked}`, gathering: `${gathering}` };

  async function damage(): Promise<string[]> {
    const problems = await greetingProblems(ask);
    for (const [tool, taskId] of Object.entries(waiting)) {
      const now = lasting(await ask('tasks/get', { taskId }));
      if (now !== atFirst.get(tool)) problems.push(`the task of ${tool} has changed: ${now}`);
    }
    return problems;
  }

  async function finish(): Promise<string[]> {
    const problems: string[] = [];
    for (const [tool, taskId] of Object.entries(waiting)) {
      await ask('tasks/update', { taskId, inputResponses: rightAnswers[tool] });
      const { status } = await shownOnce(ask, { taskId }, hasEnded);
      if (status !== 'completed') problems.push(`the task of ${tool} ended as ${status}`);
    }
    const inputResponses = rightAnswers.ask_name;
    const resumed = { requestState: parked, _meta: withoutTasks, inputResponses };
    const greeted = await call('ask_name', {}, resumed);
    if (greeted.content?.[0]?.text !== 'Hello, Ada!') problems.push('the parked call no longer goes on');
    const answered = { requestState: gathering, inputResponses: { user_name: inputResponses.name } };
    const made = await call('test_tool_with_task', {}, answered);
    if (made.resultType !== 'task') problems.push('the call that asked first no longer becomes a task');
    return problems;
  }

  return { staged, damage, finish };
}

export async function greetingProblems(ask: Ask): Promise<string[]> {
  const greeting = await ask('tools/call', { name: 'greet', arguments: { name: 'Ada' } });
  return greeting.content?.[0]?.text === 'Hello, Ada!' ? [] : ['a right call no longer works'];
}

export function hasEnded({ status }: Loose): boolean {
  return ['completed', 'failed', 'cancelled'].includes(status);
}

/** `params` name the task that is to be shown. */
export async function shownOnce(ask: Ask, params: Loose, isSo: (shown: Loose) => boolean): Promise<Loose> {
  for (;;) {
    const shown = await ask('tasks/get', params);
    if (isSo(shown)) return shown;
    await pause(2);
  }
}

/** Without what depends on when one looks, and how the server introduces itself. */
function lasting({ ttlMs: _ttl, pollIntervalMs: _interval, _meta, ...rest }: Loose): string {
  return JSON.stringify(rest);
}
