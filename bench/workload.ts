/** The tasks of the benchmarks and their operations. */

import { answer, ask, complete, create, record } from '../src/engine/rules/transitions.ts';
import { Refusal } from '../src/model/errors.ts';
import type { InputRequest } from '../src/model/input.ts';
import type { Json } from '../src/model/json.ts';
import type { NewTask, Owner, Task } from '../src/model/task.ts';
import type { TaskWrite, Verdict } from '../src/ports/change.ts';
import { aTask } from '../src/store-testing.ts';

const worker = { name: 'bench', leaseMs: 3_600_000 };

export type Kind = 'done' | 'queued' | 'claimed' | 'waiting';

/** Seven in ten stored tasks are done, one each is queued, claimed or waiting for an answer. */
const cycle = 'done queued done claimed done waiting done done done done'.split(' ') as Kind[];

export const kindsInCycle = cycle.length;

export function kindOf(seq: number): Kind {
  return cycle[seq % cycle.length]!;
}

export function placeInCycle(kind: Kind): number {
  return cycle.indexOf(kind);
}

const owners = 10;

/** Neighbouring rows belong to different owners, as in real use. */
export function ownerOf(seq: number): Owner {
  return `owner-${(seq * 7 + Math.floor(seq / cycle.length)) % owners}`;
}

export function anyOwner(): Owner {
  return ownerOf(Math.floor(Math.random() * owners));
}

export function aRequest(owner: Owner): NewTask {
  return aTask({
    owner,
    arguments: { topic: 'tides', regions: ['north', 'south'], language: 'en', pages: 12 },
  });
}

const approval: InputRequest = {
  kind: 'form',
  message: 'Publish the report on tides?',
  schema: {
    type: 'object',
    properties: { approved: { type: 'boolean' }, note: { type: 'string', maxLength: 200 } },
    required: ['approved'],
  },
};
const approved = { approval: { action: 'accept', content: { approved: true, note: 'Looks right.' } } };

const stepEntry: Json = {
  position: 3,
  kind: 'step',
  name: 'find sources',
  value: { sources: ['https://example.org/tides/1', 'https://example.org/tides/2'], found: 2 },
};
const result: Json = {
  content: [{ type: 'text', text: 'The report on tides was published after approval. '.repeat(4) }],
  structuredContent: { url: 'https://example.org/reports/tides' },
};

export function commitStep(task: Task, at: number): Verdict {
  return record(task, { taskId: task.id, epoch: task.epoch }, [stepEntry], at);
}

export function answerQuestion(task: Task, at: number): Verdict {
  return answer(task, approved, at);
}

/** The one write of a command that the rules must allow. */
export function onlyWrite(verdict: Verdict): TaskWrite {
  if (verdict instanceof Refusal) throw verdict;
  const [write, ...more] = verdict.writes;
  if (!write || more.length > 0) throw new Error('A benchmark command must write exactly one task.');
  return write;
}

/** All writes of a stored task of this kind, in order. */
export function lifeOf(kind: Kind, owner: string, at: number): TaskWrite[] {
  const request = aRequest(owner);
  if (kind === 'queued') return [onlyWrite(create(undefined, request, at))];
  const created = onlyWrite(create(undefined, request, at, worker));
  if (kind === 'claimed') return [created];
  const claim = { taskId: request.id, epoch: 1 };
  if (kind === 'waiting') {
    return [created, onlyWrite(ask(created.task, claim, { key: 'approval', request: approval }, at))];
  }
  const stepped = onlyWrite(commitStep(created.task, at));
  const outcome = { kind: 'result', isError: false, value: result } as const;
  const finished = complete({ task: stepped.task, ancestors: [] }, claim, outcome, at);
  return [created, stepped, onlyWrite(finished)];
}
