/**
 * Everything outside a pass: the task and its subtasks, the journal, the moment, people who answer. It keeps texts,
 * as a database does, so that nothing in it is shared with a handler, and changes them by the real rules only.
 */
import type { Change, Verdict } from '../../src/engine/change.ts';
import { type Batch, type Journal, readJournal } from '../../src/engine/journal.ts';
import type { Claim } from '../../src/engine/queue.ts';
import * as rules from '../../src/engine/transitions.ts';
import { Refusal } from '../../src/model/errors.ts';
import { newId } from '../../src/model/id.ts';
import type { InputRequest, InputResponse } from '../../src/model/input.ts';
import type { Json } from '../../src/model/json.ts';
import type { Failed, Outcome } from '../../src/model/outcome.ts';
import { openInputs, type Task, type TaskId } from '../../src/model/task.ts';
import { aTask } from '../../src/testing/fixtures.ts';
import { hash } from './chance.ts';

/** Something that may happen next, from outside. Its name is the same whenever the same thing may happen. */
export interface Happening {
  readonly name: string;
  happen(): void;
}

export class World {
  now = Date.UTC(2026, 6, 28);
  readonly taskId: TaskId;
  /** Commits to the journal so far. */
  commits = 0;
  readonly #seed: number;
  readonly #tasks = new Map<TaskId, string>();
  /** For our own eyes: nobody outside ever gets these very objects. */
  readonly #known = new Map<TaskId, Task>();
  #records: string[] = [];
  readonly #settled = new Set<number>();
  readonly #attempts = new Map<number, number>();
  readonly #expected = new Set<string>();
  readonly #alarms = new Set<{ readonly at: number; readonly callback: () => void }>();
  readonly #listeners = new Set<() => void>();

  constructor(seed: number, id = newId()) {
    this.#seed = seed;
    this.taskId = id;
    const request = aTask({ id });
    this.#keep(rules.create(undefined, request, this.now));
  }

  get task(): Task {
    return this.read(this.taskId)!;
  }

  read(id: TaskId): Task | undefined {
    const text = this.#tasks.get(id);
    return text === undefined ? undefined : (JSON.parse(text) as Task);
  }

  records(): Json[] {
    return this.#records.map((text) => JSON.parse(text) as Json);
  }

  journal(): Journal {
    return readJournal(this.records());
  }

  /** The same world once more, to try another future in. */
  copy(): World {
    const copy = new World(this.#seed, this.taskId);
    copy.now = this.now;
    copy.commits = this.commits;
    copy.#records = [...this.#records];
    for (const [id, text] of this.#tasks) copy.#put(id, text);
    for (const position of this.#settled) copy.#settled.add(position);
    for (const [position, count] of this.#attempts) copy.#attempts.set(position, count);
    for (const event of this.#expected) copy.#expected.add(event);
    return copy;
  }

  ordinalOf(id: TaskId): number {
    return this.#known.get(id)?.ordinal ?? -1;
  }

  hasEntryFor(position: number): boolean {
    return this.#settled.has(position);
  }

  failedAttemptsAt(position: number): number {
    return this.#attempts.get(position) ?? 0;
  }

  // --- The worker's side ------------------------------------------------------------------------------------

  /** Undefined while the task is parked. A holder before it is taken for dead. */
  claim(holder: string): Claim | undefined {
    const task = this.#known.get(this.taskId)!;
    const { holder: previous } = task as { holder?: { name: string } };
    const verdict = rules.claim(task, { name: holder, leaseMs: 1e9 }, this.now, previous);
    if (verdict instanceof Refusal) return undefined;
    const { id, epoch } = this.#keep(verdict).task;
    return { taskId: id, epoch };
  }

  get isParked(): boolean {
    const { wakeAt } = this.#known.get(this.taskId) as { wakeAt?: number | null };
    return typeof wakeAt !== 'number' || wakeAt > this.now;
  }

  /** As a store would: the rule decides on a fresh copy, and its refusal is thrown. */
  update(decide: (task: Task) => Verdict): Task {
    return this.#keep(decide(this.task)).task;
  }

  cancel(id: TaskId, reason?: string): void {
    const task = this.read(id)!;
    const verdict = rules.cancel({ task, ancestors: [this.task], descendants: [] }, this.now, reason);
    if (verdict instanceof Refusal) return;
    this.#keep(verdict);
    this.#tell();
  }

  schedule(at: number, callback: () => void): () => void {
    const alarm = { at, callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Calls back whenever something happened that a running pass must look at. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  expects(event: string): void {
    this.#expected.add(event);
  }

  // --- The other side ---------------------------------------------------------------------------------------

  happenings(): Happening[] {
    const task = this.#known.get(this.taskId)!;
    const completed = task.completions ?? {};
    const { wakeAt } = task as { wakeAt?: number | null };
    const moments = [...this.#alarms].map(({ at }) => at);
    if (this.#alarms.size === 0 && typeof wakeAt === 'number' && wakeAt > this.now) moments.push(wakeAt);
    const next = Math.min(...moments);
    return [
      ...openInputs(task).map(({ key, request }) => ({
        name: `answer ${key}`,
        happen: () => this.#answer(key, request),
      })),
      ...[...this.#expected]
        .filter((event) => !Object.hasOwn(completed, event))
        .map((event) => ({ name: `complete ${event}`, happen: () => this.#complete(event) })),
      ...this.#children().map(({ id, ordinal }) => ({
        name: `end subtask ${ordinal}`,
        happen: () => this.#endChild(id),
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

  #answer(key: string, request: InputRequest): void {
    const response = someAnswer(request, hash(this.#seed, 'answer', key));
    this.#keep(rules.answer(this.task, { [key]: response }, this.now));
    this.#tell();
  }

  #complete(event: string): void {
    const value = { event, lucky: [hash(this.#seed, 'event', event) % 7] };
    this.#keep(rules.completeEvent(this.task, event, value, this.now));
    this.#tell();
  }

  #endChild(id: TaskId): void {
    const child = this.read(id)!;
    const claimed = this.#keep(rules.claim(child, { name: 'other', leaseMs: 1 }, this.now));
    const outcome = someOutcome(child.ordinal, hash(this.#seed, 'subtask', child.ordinal));
    const family = { task: claimed.task, ancestors: [this.task], descendants: [] };
    const claim = { taskId: id, epoch: claimed.task.epoch };
    this.#keep(
      outcome.kind === 'result' && !outcome.isError
        ? rules.complete(family, claim, outcome, this.now)
        : rules.fail(family, claim, outcome as Failed, this.now),
    );
    this.#tell();
  }

  #moveTo(moment: number): void {
    this.now = Math.max(this.now, moment);
    for (const alarm of this.#alarms) {
      if (alarm.at > this.now) continue;
      this.#alarms.delete(alarm);
      alarm.callback();
    }
  }

  #children(): Task[] {
    return [...this.#known.values()].filter(({ id, phase }) => id !== this.taskId && phase !== 'done');
  }

  #keep(verdict: Verdict): Change {
    if (verdict instanceof Refusal) throw verdict;
    for (const { task, journal = [] } of verdict.writes) {
      this.#put(task.id, JSON.stringify(task));
      if (task.id !== this.taskId) continue;
      for (const record of journal) {
        this.#records.push(JSON.stringify(record));
        if (this.#records.length === 1) continue;
        this.commits++;
        this.#index(record as unknown as Batch);
      }
    }
    return verdict;
  }

  #put(id: TaskId, text: string): void {
    this.#tasks.set(id, text);
    this.#known.set(id, JSON.parse(text) as Task);
  }

  #index({ entries, attempts }: Batch): void {
    for (const { call } of entries) this.#settled.add(call);
    for (const { call } of attempts) this.#attempts.set(call, this.failedAttemptsAt(call) + 1);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export function someAnswer(request: InputRequest, number: number): InputResponse {
  switch (request.kind) {
    case 'form':
      return number % 3 === 0 ? { action: 'decline' } : { action: 'accept', content: { n: number % 50 } };
    case 'url':
      return { action: number % 2 === 0 ? 'accept' : 'cancel' };
    case 'sampling':
      return { role: 'assistant', model: 'm', content: { type: 'text', text: `${number}` } };
    case 'roots':
      return { roots: [{ uri: `file:///${number}` }] };
  }
}

function someOutcome(ordinal: number, number: number): Outcome {
  const value = { content: [{ type: 'text', text: `${ordinal}: ${number}` }] };
  switch (number % 5) {
    case 0:
      return { kind: 'failure', message: `${ordinal} failed` };
    case 1:
      return { kind: 'lost', message: `nobody knows about ${ordinal}` };
    case 2:
      return { kind: 'result', isError: true, value: { ...value, isError: true } };
    default:
      return { kind: 'result', isError: false, value };
  }
}
