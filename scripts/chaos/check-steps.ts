/**
 * Checks that every step ran, none too often and each at its time, using only the lines that steps wrote and the kills.
 * The outcomes of tasks are compared with these files.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Outcome, TaskId } from '../../src/index.ts';
import { type Life, lifeAt } from './lives.ts';
import type { Problem } from './problem.ts';
import { inOrder, type Programme, stepsOf } from './programme.ts';
import type { Evidence, StepLine } from './step-file.ts';
import type { Seen } from './tools.ts';

export interface Witnessed {
  readonly evidence: Evidence;
  readonly lives: readonly Life[];
  /** The outcome of a task; undefined if the task does not exist or is not done. */
  outcomeOf(id: TaskId): Outcome | undefined;
  /** The answer or event that was sent to a task under this key or name. */
  sentTo(id: TaskId, name: string): string | undefined;
}

export interface Timer {
  readonly lateMs: number;
  /** Whether a process was killed while it ran. */
  readonly disturbed: boolean;
}

export interface Repeat {
  /** From the kill to the next attempt. */
  readonly afterMs: number;
  /** Whether another process was killed in between. */
  readonly disturbed: boolean;
}

export interface StepFindings {
  readonly problems: Problem[];
  /** All tasks with their programmes. */
  readonly tasks: Map<TaskId, Programme>;
  steps: number;
  /** Interrupted steps that ran again after a kill. */
  readonly repeats: Repeat[];
  readonly timers: Timer[];
}

export function checkSteps(
  roots: readonly { readonly id: TaskId; readonly programme: Programme }[],
  witnessed: Witnessed,
): StepFindings {
  const findings: StepFindings = {
    problems: witnessed.evidence.unreadable.map((text) => ({ kind: 'broken', text })),
    tasks: new Map(),
    steps: 0,
    repeats: [],
    timers: [],
  };
  for (const { id, programme } of roots) checkTree(id, programme, witnessed, findings);
  for (const task of witnessed.evidence.lines.keys())
    if (!findings.tasks.has(task))
      findings.problems.push({ kind: 'broken', task, text: 'its steps ran, but it was never ordered' });
  return findings;
}

/** Checks a task and the subtasks named in its file; returns what the task must have returned. */
function checkTree(id: TaskId, programme: Programme, witnessed: Witnessed, findings: StepFindings): Seen {
  findings.tasks.set(id, programme);
  const check = new TaskCheck(id, programme, witnessed, findings);
  const { subtasks } = programme;
  const ids = subtasks ? check.fact(subtasks.named, 'subtasks') : [];
  for (const [index, child] of (subtasks?.programmes ?? []).entries()) {
    const childId = Array.isArray(ids) ? ids[index] : undefined;
    if (typeof childId !== 'string') {
      findings.problems.push({ kind: 'lost', task: `${id}/${index}`, text: 'the subtask was never started' });
      continue;
    }
    const seen = checkTree(childId, child, witnessed, findings);
    const step = subtasks!.returned[index]!;
    check.expectReturned(step, seen, childId);
  }
  return check.seen();
}

class TaskCheck {
  readonly #id: TaskId;
  readonly #programme: Programme;
  readonly #witnessed: Witnessed;
  readonly #findings: StepFindings;
  readonly #lines: ReadonlyMap<string, readonly StepLine[]>;

  constructor(id: TaskId, programme: Programme, witnessed: Witnessed, findings: StepFindings) {
    this.#id = id;
    this.#programme = programme;
    this.#witnessed = witnessed;
    this.#findings = findings;
    const all = witnessed.evidence.lines.get(id) ?? [];
    this.#lines = Map.groupBy(all, ({ step }) => step);
    this.#ended();
    this.#everyStepRan();
    this.#noneTooOften(all);
    this.#sameEveryTime();
    this.#timersKept();
  }

  /** A value from the last line of a step, which is the committed one. */
  fact(step: string, name: string): unknown {
    return this.#last(step)?.value[name];
  }

  expectReturned(step: string, wanted: Seen, subtask: TaskId): void {
    const line = this.#last(step);
    if (!line) return;
    for (const text of differences(parsed(line.value.returned), wanted))
      this.#complain('lost', `${step} received from subtask ${subtask} ${text}`);
  }

  /** The nonces that the handler must have received. */
  seen(): Seen {
    const nonces = this.#ownSteps().map((step) => [step, this.#last(step)?.value.nonce ?? '']);
    return Object.fromEntries(nonces);
  }

  #ownSteps(): string[] {
    return stepsOf(this.#programme).filter((step) => !Object.hasOwn(this.#programme.polls, step));
  }

  #everyStepRan(): void {
    for (const step of stepsOf(this.#programme)) {
      const lines = this.#lines.get(step) ?? [];
      const { attempts } = this.#programme.attempts[step] ?? { attempts: 1 };
      const made = new Set(lines.map(({ attempt }) => attempt));
      for (let attempt = 1; attempt <= attempts; attempt++)
        if (!made.has(attempt)) this.#complain('lost', `${step} never ran${of(attempt, attempts)}`);
      if (lines.some(({ attempt }) => attempt > attempts))
        this.#complain('repeated', `${step} ran more than its ${attempts} attempts`);
    }
    this.#findings.steps += this.#ownSteps().filter((step) => this.#lines.has(step)).length;
    for (const step of this.#lines.keys())
      if (!stepsOf(this.#programme).includes(step))
        this.#complain('broken', `${step} ran, but is not one of its steps`);
  }

  #noneTooOften(all: readonly StepLine[]): void {
    for (const step of this.#ownSteps()) {
      const attempts = Map.groupBy(this.#lines.get(step) ?? [], ({ attempt }) => attempt);
      for (const lines of attempts.values())
        for (const [index, line] of lines.slice(1).entries()) this.#excuse(lines[index]!, line);
    }
    const place = new Map(all.map((line, index) => [line, index]));
    for (const [earlier, later] of inOrder(this.#programme)) {
      const last = this.#last(earlier);
      const first = this.#lines.get(later)?.[0];
      if (last && first && place.get(last)! > place.get(first)!)
        this.#complain('repeated', `${earlier} ran again after ${later}, which follows its commit`);
    }
    for (const [index, line] of all.slice(1).entries())
      if (line.pass < all[index]!.pass)
        this.#complain(
          'repeated',
          `${line.step} ran in pass ${line.pass}, when pass ${all[index]!.pass} had begun`,
        );
  }

  /** A line may be repeated only if the process that wrote it was killed before the next one was written. */
  #excuse(line: StepLine, next: StepLine): void {
    const life = lifeAt(this.#witnessed.lives, line);
    const killedAt = life?.killedAt;
    if (killedAt === undefined || next.at < killedAt || life === lifeAt(this.#witnessed.lives, next))
      this.#complain(
        'repeated',
        `${line.step} ran in pass ${line.pass} (process ${line.pid}) and again in pass ${next.pass} (process ${next.pid}), and no kill excuses it`,
      );
    else
      this.#findings.repeats.push({
        afterMs: next.at - killedAt,
        disturbed: this.#isKillBetween(killedAt, next.at),
      });
  }

  /** The input of a step and its key are the same in every pass. */
  #sameEveryTime(): void {
    const keys = new Map<string, string>();
    for (const [step, lines] of this.#lines) {
      for (const line of lines) {
        const [first] = lines;
        if (line.key !== first!.key)
          this.#complain('broken', `${step} had the key ${first!.key}, then ${line.key}`);
        if (!Object.hasOwn(this.#programme.polls, step) && !isDeepStrictEqual(known(line), known(first!)))
          this.#complain(
            'broken',
            `${step} received ${JSON.stringify(known(first!))}, then ${JSON.stringify(known(line))}`,
          );
      }
      const { key } = lines[0]!;
      if (keys.has(key)) this.#complain('broken', `${step} and ${keys.get(key)} have the same key ${key}`);
      keys.set(key, step);
    }
    for (const [step, name] of Object.entries(this.#programme.receives))
      this.#expectReceived(step, this.#witnessed.sentTo(this.#id, name), name);
  }

  #expectReceived(step: string, sent: string | undefined, name: string): void {
    const line = this.#last(step);
    if (line && line.value.received !== sent)
      this.#complain('lost', `${step} received ${line.value.received}, but ${sent} was sent under "${name}"`);
  }

  #timersKept(): void {
    for (const [from, then] of Object.entries(this.#programme.timers)) {
      const start = this.#last(from);
      if (start) this.#timer(start, start.at + Number(start.value.sleeps), this.#lines.get(then)?.[0]);
    }
    for (const { from, until } of Object.values(this.#programme.polls)) {
      const start = this.#last(from);
      if (start) this.#timer(start, Number(start.value.risesAt), this.#lines.get(until)?.[0]);
    }
    for (const [step, { restMs }] of Object.entries(this.#programme.attempts)) {
      const lines = this.#lines.get(step) ?? [];
      for (const next of lines) {
        const failed = lines.findLast(({ attempt }) => attempt === next.attempt - 1);
        if (failed) this.#timer(failed, failed.at + restMs, next);
      }
    }
  }

  #timer(start: StepLine, due: number, end: StepLine | undefined): void {
    if (!end) return;
    const lateMs = end.at - due;
    this.#findings.timers.push({ lateMs, disturbed: this.#isKillBetween(start.at, end.at) });
    if (lateMs < 0) this.#complain('broken', `${end.step} ran ${-lateMs} ms before its time`);
  }

  #isKillBetween(from: number, to: number): boolean {
    return this.#witnessed.lives.some(
      ({ killedAt }) => killedAt !== undefined && killedAt > from && killedAt < to,
    );
  }

  #ended(): void {
    const outcome = this.#witnessed.outcomeOf(this.#id);
    if (!outcome) this.#complain('lost', 'never ended');
    else if (outcome.kind !== 'result' || outcome.isError)
      this.#complain('lost', `ended as ${JSON.stringify(outcome)}`);
    else
      for (const text of differences(parsed(textOf(outcome)), this.seen()))
        this.#complain('lost', `returned ${text}`);
  }

  #last(step: string): StepLine | undefined {
    return this.#lines.get(step)?.at(-1);
  }

  #complain(kind: Problem['kind'], text: string): void {
    this.#findings.problems.push({ kind, task: this.#id, text });
  }
}

function textOf({ value }: Outcome & { readonly kind: 'result' }): unknown {
  return (value as { content?: readonly { text?: unknown }[] }).content?.[0]?.text;
}

function parsed(text: unknown): Seen {
  try {
    return JSON.parse(String(text));
  } catch {
    return {};
  }
}

/** Differences between the returned nonces and those that the steps wrote. */
function differences(returned: Seen, written: Seen): string[] {
  const steps = new Set([...Object.keys(returned), ...Object.keys(written)]);
  return [...steps]
    .filter((step) => returned[step] !== written[step])
    .map((step) => `"${returned[step]}" for ${step}, which wrote "${written[step]}"`);
}

/** The values of a line that the step did not generate itself. */
function known({ value }: StepLine): object {
  const { nonce: _nonce, risesAt: _risesAt, ...rest } = value;
  return rest;
}

function of(attempt: number, attempts: number): string {
  return attempts === 1 ? '' : ` (attempt ${attempt} of ${attempts})`;
}
