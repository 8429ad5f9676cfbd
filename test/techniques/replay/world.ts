/**
 * Everything outside a pass: the task and its subtasks, the journal, the moment, people who answer. It keeps copies,
 * as a database does, so that nothing in it is shared with a handler, and changes them by the real rules only.
 */

import { append, batchIn, type Journal, readJournal } from '../../../src/engine/replay/journal.ts';
import * as rules from '../../../src/engine/rules/transitions.ts';
import { Refusal } from '../../../src/model/errors.ts';
import { newId } from '../../../src/model/id.ts';
import type { InputRequest, InputResponse } from '../../../src/model/input.ts';
import type { Json } from '../../../src/model/json.ts';
import type { Failed, Outcome } from '../../../src/model/outcome.ts';
import { type ActiveTask, openInputs, type Task, type TaskId } from '../../../src/model/task.ts';
import type { Change, Verdict } from '../../../src/ports/change.ts';
import type { Claim } from '../../../src/ports/queue.ts';
import { aTask } from '../../../src/testing/fixtures.ts';
import { hash } from '../../kit/random.ts';

/** Something that may happen next, from outside. Its name is the same whenever the same thing may happen. */
export interface Happening {
  readonly name: string;
  happen(): void;
}

export class World {
  now = Date.UTC(2026, 6, 28);
  readonly taskId: TaskId;
  /** Called whenever something happened that a running pass must look at. */
  onChange = () => {};
  /** The journal as it is, to look things up in. A pass gets a copy. */
  recorded: Journal = readJournal([]);
  readonly #seed: number;
  #tasks = new Map<TaskId, Task>();
  #records: Json[] = [];
  #expected = new Set<string>();
  readonly #alarms = new Set<{ readonly at: number; readonly callback: () => void }>();

  constructor(seed: number, id = newId()) {
    this.#seed = seed;
    this.taskId = id;
    this.#keep(rules.create(undefined, aTask({ id }), this.now));
  }

  get task(): Task {
    return this.read(this.taskId)!;
  }

  read(id: TaskId): Task | undefined {
    return structuredClone(this.#tasks.get(id));
  }

  records(): Json[] {
    return structuredClone(this.#records);
  }

  journal(): Journal {
    return readJournal(this.records());
  }

  get commits(): number {
    return this.#records.length - 1;
  }

  /** The same world once more, to try another future in. */
  copy(): World {
    const copy = new World(this.#seed, this.taskId);
    copy.now = this.now;
    copy.recorded = this.journal();
    copy.#records = this.records();
    copy.#tasks = structuredClone(this.#tasks);
    copy.#expected = new Set(this.#expected);
    return copy;
  }

  ordinalOf(id: TaskId): number {
    return this.#tasks.get(id)?.ordinal ?? -1;
  }

  /** Undefined while the task is parked. A holder before it is taken for dead. */
  claim(holder: string, at = this.now): Claim | undefined {
    const task = this.#live();
    const verdict = rules.claim(task, { name: holder, leaseMs: 1e9 }, at, task.worker);
    if (verdict instanceof Refusal) return undefined;
    const { id, epoch, ...claimed } = this.#keep(verdict).task as ActiveTask;
    // After some deaths a task rests before it can be claimed. Here the rest takes no time.
    return claimed.worker ? { taskId: id, epoch } : this.claim(holder, claimed.wakeAt!);
  }

  get isParked(): boolean {
    return (this.#live().wakeAt ?? Infinity) > this.now;
  }

  /** As a store would: the rule decides on a fresh copy, and its refusal is thrown. */
  update(decide: (task: Task) => Verdict): Task {
    return this.#keep(decide(this.task)).task;
  }

  cancel(id: TaskId, reason?: string): void {
    const family = { task: this.read(id)!, ancestors: [this.task], descendants: [] };
    const verdict = rules.cancel(family, this.now, reason);
    if (!(verdict instanceof Refusal)) this.#happened(verdict);
  }

  schedule(at: number, callback: () => void): () => void {
    const alarm = { at, callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  expects(event: string): void {
    this.#expected.add(event);
  }

  happenings(): Happening[] {
    const task = this.#live();
    const { completions = {}, wakeAt } = task;
    const moments = [...this.#alarms].map(({ at }) => at);
    if (moments.length === 0 && typeof wakeAt === 'number' && wakeAt > this.now) moments.push(wakeAt);
    const next = Math.min(...moments);
    const events = [...this.#expected].filter((event) => !Object.hasOwn(completions, event));
    const subtasks = [...this.#tasks.values()].filter(
      ({ id, phase }) => id !== this.taskId && phase !== 'done',
    );
    return [
      ...openInputs(task).map(({ key, request }) => ({
        name: `answer ${key}`,
        happen: () => {
          const answer = someAnswer(request, hash(this.#seed, 'answer', key));
          this.#happened(rules.answer(this.task, { [key]: answer }, this.now));
        },
      })),
      ...events.map((event) => ({
        name: `complete ${event}`,
        happen: () => {
          const value = { event, lucky: [hash(this.#seed, 'event', event) % 7] };
          this.#happened(rules.completeEvent(this.task, event, value, this.now));
        },
      })),
      ...subtasks.map(({ id, ordinal }) => ({
        name: `end subtask ${ordinal}`,
        happen: () => this.#endSubtask(id),
      })),
      ...(next < Infinity ? [{ name: `time ${next}`, happen: () => this.#moveTo(next) }] : []),
    ];
  }

  /** Makes the one happen whose name begins like this. */
  happen(name: string): void {
    const found = this.happenings().find((one) => one.name.startsWith(name));
    if (!found) throw new Error(`Nothing like "${name}" can happen.`);
    found.happen();
  }

  #endSubtask(id: TaskId): void {
    const { task } = this.#keep(rules.claim(this.read(id)!, { name: 'other', leaseMs: 1 }, this.now));
    const outcome = someOutcome(task.ordinal, hash(this.#seed, 'subtask', task.ordinal));
    const family = { task, ancestors: [this.task], descendants: [] };
    const claim = { taskId: id, epoch: task.epoch };
    this.#happened(
      outcome.kind === 'result' && !outcome.isError
        ? rules.complete(family, claim, outcome, this.now)
        : rules.fail(family, claim, outcome as Failed, this.now),
    );
  }

  #moveTo(moment: number): void {
    this.now = Math.max(this.now, moment);
    for (const alarm of this.#alarms) {
      if (alarm.at > this.now) continue;
      this.#alarms.delete(alarm);
      alarm.callback();
    }
  }

  /** The task itself, for our own eyes. The world has no rule that ends it. */
  #live(): ActiveTask {
    return this.#tasks.get(this.taskId) as ActiveTask;
  }

  #happened(verdict: Verdict): void {
    this.#keep(verdict);
    this.onChange();
  }

  #keep(verdict: Verdict): Change {
    if (verdict instanceof Refusal) throw verdict;
    for (const { task, journal = [] } of copied(verdict.writes)) {
      this.#tasks.set(task.id, task);
      if (task.id !== this.taskId) continue;
      for (const record of journal)
        if (this.#records.push(record) > 1) append(this.recorded, batchIn(copied(record)));
    }
    return verdict;
  }
}

/** As it comes back from a database. */
function copied<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

const answers: Readonly<Record<InputRequest['kind'], (number: number) => InputResponse>> = {
  form: (n) => (n % 3 === 0 ? { action: 'decline' } : { action: 'accept', content: { n: n % 50 } }),
  url: (n) => ({ action: n % 2 === 0 ? 'accept' : 'cancel' }),
  sampling: (n) => ({ role: 'assistant', model: 'm', content: { type: 'text', text: `${n}` } }),
  roots: (n) => ({ roots: [{ uri: `file:///${n}` }] }),
};

export function someAnswer({ kind }: InputRequest, number: number): InputResponse {
  return answers[kind](number);
}

function someOutcome(ordinal: number, number: number): Outcome {
  const value = { content: [{ type: 'text', text: `${ordinal}: ${number}` }] };
  const failures: readonly Failed[] = [
    { kind: 'failure', message: `${ordinal} failed` },
    { kind: 'lost', message: `nobody knows about ${ordinal}` },
    { kind: 'result', isError: true, value: { ...value, isError: true } },
  ];
  return failures[number % 5] ?? { kind: 'result', isError: false, value };
}
