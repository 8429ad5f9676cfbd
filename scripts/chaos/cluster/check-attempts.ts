/**
 * Checks the writers of each task, using only the lines of its steps. A handler receives only committed values, so a
 * nonce that a later step knows, or that the task returned, proves that this attempt was committed. A task has one
 * writer at a time: everything committed under a claim was done before the next claim started anything.
 */
import type { TaskId } from '../../../src/index.ts';
import type { Problem } from '../problem.ts';
import { of } from './check-clients.ts';
import { programme, type Returned } from './errand.ts';
import type { Attempt, History } from './history.ts';

export interface AttemptFindings {
  readonly problems: Problem[];
  /** Roots and subtasks. */
  readonly tasks: ReadonlySet<TaskId>;
  readonly steps: number;
  /** Attempts that were not committed, because their process died or lost its claim. */
  readonly inVain: number;
}

export function checkAttempts(history: History): AttemptFindings {
  const attempts = history.filter((entry) => entry.what === 'began' || entry.what === 'did');
  const byTask = Map.groupBy(attempts, ({ task }) => task);
  const returned = returnedBy(history);
  const expected = new Map<TaskId, readonly string[]>();
  for (const [task, { legs }] of returned) {
    expected.set(task, programme.errand);
    for (const [number, leg] of (legs ?? []).entries()) expected.set(leg.id, programme.legs[number] ?? []);
  }
  const results = new Map(
    [...returned.values()].flatMap(({ legs }) => legs ?? []).map((leg) => [leg.id, leg]),
  );
  for (const [task, result] of returned) results.set(task, result as Returned & { id: TaskId });
  const clocksAreRightUntil = of(history, 'clock')[0]?.at ?? Number.POSITIVE_INFINITY;
  const checks = [...byTask].map(
    ([task, own]) => new TaskAttempts(task, own, results.get(task), clocksAreRightUntil),
  );
  return {
    problems: [
      ...ends(history, returned),
      ...unordered(history, byTask),
      ...checks.flatMap((check) => check.problems(expected.get(check.id))),
      ...[...expected.keys()]
        .filter((id) => !byTask.has(id))
        .map(
          (id): Problem => ({ kind: 'lost', task: id, text: 'has a result, but none of its steps ever ran' }),
        ),
      ...answersReceived(history, byTask, returned),
    ],
    tasks: new Set([...byTask.keys(), ...of(history, 'created').map((created) => created.task)]),
    steps: checks.reduce((sum, { committed }) => sum + committed.size, 0),
    inVain: checks.reduce((sum, { inVain }) => sum + inVain, 0),
  };
}

class TaskAttempts {
  readonly id: TaskId;
  /** The nonces that were provably committed, by step. */
  readonly committed: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #began: readonly Attempt[];
  readonly #did: ReadonlyMap<string, Attempt>;
  readonly #result: Returned | undefined;
  readonly #clocksAreRightUntil: number;

  constructor(
    id: TaskId,
    lines: readonly Attempt[],
    result: Returned | undefined,
    clocksAreRightUntil: number,
  ) {
    this.#clocksAreRightUntil = clocksAreRightUntil;
    this.id = id;
    this.#began = lines.filter(({ what }) => what === 'began');
    this.#did = new Map(lines.filter(({ what }) => what === 'did').map((line) => [line.nonce, line]));
    this.#result = result;
    const committed = new Map<string, Set<string>>();
    for (const knows of [...lines.map((line) => line.knows), result?.steps ?? {}])
      for (const [step, nonce] of Object.entries(knows))
        committed.set(step, (committed.get(step) ?? new Set()).add(nonce));
    this.committed = committed;
  }

  get inVain(): number {
    const given = new Set([...this.committed.values()].flatMap((nonces) => [...nonces]));
    const failed = this.#began.filter((line) => this.#hasNextAttempt(line));
    return this.#began.filter((line) => !given.has(line.nonce) && !failed.includes(line)).length;
  }

  problems(expected: readonly string[] | undefined): Problem[] {
    return [
      ...this.#oneProcessPerPass(),
      ...this.#committedOnce(),
      ...this.#noneRepeated(),
      ...this.#oneWriter(),
      ...this.#timersKept(),
      ...this.#complete(expected),
    ];
  }

  #oneProcessPerPass(): Problem[] {
    return [...Map.groupBy(this.#began, ({ pass }) => pass)].flatMap(([pass, lines]) => {
      const processes = [...new Set(lines.map(({ process }) => process))];
      return processes.length > 1
        ? [this.#problem('broken', `pass ${pass} ran in ${processes.join(' and in ')}`)]
        : [];
    });
  }

  /** All readers of a step received the same value. */
  #committedOnce(): Problem[] {
    return [...this.committed].flatMap(([step, nonces]) =>
      nonces.size > 1 ? [this.#problem('repeated', `${step} was committed ${nonces.size} times`)] : [],
    );
  }

  /** The committed attempt is the last one. */
  #noneRepeated(): Problem[] {
    return [...this.committed].flatMap(([step, nonces]) => {
      const last = this.#began.findLast((line) => line.step === step);
      const [nonce] = nonces;
      const done = this.#did.get(nonce!);
      if (!done || !last)
        return [this.#problem('broken', `received the value of a ${step} that was never done`)];
      if (nonces.size > 1 || last.nonce === nonce) return this.#attemptsRepeated(step);
      return [
        this.#problem(
          'repeated',
          `${step} was committed by pass ${done.pass} (${done.process}), and ran again in pass ${last.pass} (${last.process})`,
        ),
      ];
    });
  }

  /** A failed attempt is committed before the next one starts. */
  #attemptsRepeated(step: string): Problem[] {
    const own = this.#began.filter((line) => line.step === step);
    return own.flatMap((line, index) =>
      own.slice(0, index).some(({ attempt }) => attempt > line.attempt)
        ? [this.#problem('repeated', `attempt ${line.attempt} of ${step} ran after a later one`)]
        : [],
    );
  }

  /** A pass did everything that it committed before a later pass started anything. */
  #oneWriter(): Problem[] {
    const given = [...this.committed.values()].flatMap((nonces) => [...nonces]);
    for (const line of given.flatMap((nonce) => this.#did.get(nonce) ?? [])) {
      const later = this.#began.find(({ pass, at }) => pass > line.pass && at < line.at);
      if (later)
        return [
          this.#problem(
            'broken',
            `${line.process} committed ${line.step} under the claim of pass ${line.pass}, although pass ${later.pass} already ran in ${later.process}`,
          ),
        ];
    }
    return [];
  }

  /** Timers use the wall clock, so they are checked only until the first clock jump. */
  #timersKept(): Problem[] {
    return this.#began
      .filter(({ lateMs = 0, at }) => lateMs < 0 && at < this.#clocksAreRightUntil)
      .map(({ step, lateMs }) => this.#problem('broken', `${step} ran ${-lateMs!} ms before its time`));
  }

  /** The result of a completed task has exactly the steps of its programme. */
  #complete(expected: readonly string[] | undefined): Problem[] {
    if (!expected) return [];
    const steps = new Set(Object.keys(this.#result?.steps ?? {}));
    const missing = expected.filter((step) => !steps.has(step));
    const surplus = [...steps].filter((step) => !expected.includes(step));
    return [
      ...missing.map((step) => this.#problem('lost', `${step} is missing from its result`)),
      ...surplus.map((step) => this.#problem('broken', `${step} is in its result, but not in its programme`)),
    ];
  }

  #hasNextAttempt({ step, attempt, at }: Attempt): boolean {
    return this.#began.some((line) => line.step === step && line.attempt === attempt + 1 && line.at > at);
  }

  #problem(kind: Problem['kind'], text: string): Problem {
    return { kind, task: this.id, text };
  }
}

/** The results of completed roots. */
function returnedBy(history: History): Map<TaskId, Returned> {
  const returned = new Map<TaskId, Returned>();
  for (const { task, seen } of of(history, 'polled')) {
    if (seen?.status !== 'completed' || returned.has(task)) continue;
    try {
      const { content } = JSON.parse(seen.result!) as { content: { text: string }[] };
      returned.set(task, JSON.parse(content[0]!.text));
    } catch {
      // A result without steps is reported as incomplete.
      returned.set(task, { steps: {} });
    }
  }
  return returned;
}

function unordered(history: History, byTask: ReadonlyMap<TaskId, readonly Attempt[]>): Problem[] {
  const known = new Set(of(history, 'created').map((created) => created.task));
  return [...byTask]
    .filter(([, [line]]) => !known.has(line!.root))
    .map(([id]) => ({ kind: 'broken', task: id, text: 'its steps ran, but it was never ordered' }));
}

/** Only cancelled tasks may end without a result. */
function ends(history: History, returned: ReadonlyMap<TaskId, Returned>): Problem[] {
  const cancelled = new Set(of(history, 'cancelled').map((cancel) => cancel.task));
  const ended = new Map<TaskId, string>();
  for (const { task, seen } of of(history, 'polled'))
    if (seen && seen.status !== 'working' && seen.status !== 'input_required') ended.set(task, seen.status);
  return [...ended].flatMap(([task, status]): Problem[] =>
    returned.has(task) || (status === 'cancelled' && cancelled.has(task))
      ? []
      : [{ kind: 'lost', task, text: `it was not cancelled, but ended as ${status}` }],
  );
}

/** Each acknowledged answer was received by a step, and no step received an answer that was never sent. */
function answersReceived(
  history: History,
  byTask: ReadonlyMap<TaskId, readonly Attempt[]>,
  returned: ReadonlyMap<TaskId, Returned>,
): Problem[] {
  const sent = Map.groupBy(of(history, 'answered'), ({ task }) => task);
  return [...returned].flatMap(([task, { legs = [] }]) => {
    const lines = [task, ...legs.map(({ id }) => id)].flatMap((id) => byTask.get(id) ?? []);
    const received = new Set(lines.flatMap((line) => line.received ?? []));
    const answers = sent.get(task) ?? [];
    const notReceived = answers.filter(({ at, words }) => at !== null && !received.has(words));
    const neverSent = [...received].filter((words) => !answers.some((answer) => answer.words === words));
    return [
      ...notReceived.map(
        ({ question }): Problem => ({
          kind: 'lost',
          task,
          text: `its answer to ${question} was acknowledged, but no step received it`,
        }),
      ),
      ...neverSent.map(
        (words): Problem => ({ kind: 'broken', task, text: `it received "${words}", which was never sent` }),
      ),
    ];
  });
}
