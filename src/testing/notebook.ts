/**
 * An in-memory set of tasks for tests of the rules, shared by all tests of a file. Each function runs a rule and
 * applies its change. `at` is the time of the command, in milliseconds.
 */

import * as rules from '../engine/rules/transitions.ts';
import { Refusal } from '../model/errors.ts';
import type { InputRequest, InputResponse } from '../model/input.ts';
import type { Failed, Success } from '../model/outcome.ts';
import type { NewTask, Task } from '../model/task.ts';
import type { Change, Family, Verdict } from '../ports/change.ts';
import type { Claim } from '../ports/queue.ts';
import { aTask } from './fixtures.ts';
import { brokenInvariants } from './invariants.ts';

export { rules };

const tasks = new Map<string, Task>();

export interface ClaimedTask {
  readonly task: Task;
  readonly claim: Claim;
}

export const result: Success = { kind: 'result', isError: false, value: { content: [] } };
export const failure: Failed = { kind: 'result', isError: true, value: { content: [], isError: true } };
export const question: InputRequest = {
  kind: 'form',
  message: 'What is your name?',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
export const ada: InputResponse = { action: 'accept', content: { name: 'Ada' } };

/** Applies the change of a rule and returns it. Throws for a refusal and for a broken invariant. */
export function did(verdict: Verdict): Change {
  if (verdict instanceof Refusal) throw verdict;
  for (const { task } of verdict.writes) tasks.set(task.id, task);
  const broken = brokenInvariants(tasks);
  if (broken.length > 0) throw new Error(broken.join('\n'));
  return verdict;
}

export function created(overrides: Partial<NewTask> = {}, at = 0): Task {
  return did(rules.create(undefined, aTask(overrides), at)).task;
}

export function claimed(task: Task = created(), at = 0, name = 'worker'): ClaimedTask {
  const next = did(rules.claim(now(task), { name, leaseMs: 15_000 }, at)).task;
  return { task: next, claim: { taskId: next.id, epoch: next.epoch } };
}

/** Starts a subtask and claims it. */
export function child(of: ClaimedTask, at = 0): ClaimedTask {
  const request = aTask({ tool: 'summarise' });
  did(rules.startChild(now(of.task), of.claim, request, at));
  return claimed(tasks.get(request.id)!, at);
}

/** Asks a question for each key. */
export function asked(of: ClaimedTask, ...keys: string[]): Task {
  for (const key of keys) did(rules.ask(now(of.task), of.claim, { key, request: question }, 1));
  return now(of.task);
}

/** The current version of a task (not the time). */
export function now({ id }: Task): Task {
  return tasks.get(id)!;
}

/** The task with its ancestors, nearest first, and all its descendants. */
export function family(task: Task): Family {
  const ancestors: Task[] = [];
  for (let at = now(task); at.parentId; at = ancestors.at(-1)!) ancestors.push(tasks.get(at.parentId)!);
  const below = (id: string): Task[] => {
    const own = [...tasks.values()].filter(({ parentId }) => parentId === id);
    return [...own, ...own.flatMap((one) => below(one.id))];
  };
  return { task: now(task), ancestors, descendants: below(task.id) };
}
