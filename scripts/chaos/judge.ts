/** Puts the findings together: from the files that the steps wrote, from what was said, and from the database. */
import type { Task, TaskId } from '../../src/index.ts';
import { problemsOf } from '../../test/techniques/chaos/check.ts';
import type { Snapshot } from '../../test/techniques/chaos/snapshot.ts';
import { checkSteps, type StepFindings } from './check-steps.ts';
import { crossCheck } from './cross-check.ts';
import type { Life } from './lives.ts';
import type { Problem } from './problem.ts';
import { type Programme, voyage } from './programme.ts';
import type { Evidence } from './step-file.ts';
import { keyOf } from './voyages.ts';
import type { Restart } from './workers.ts';

export interface Case {
  /** The owner of all tasks of the run. */
  readonly run: string;
  /** The tasks that were acknowledged, by the number of the voyage, and how many were ordered. */
  readonly acknowledged: ReadonlyMap<number, TaskId>;
  readonly ordered: number;
  readonly evidence: Evidence;
  readonly lives: readonly Life[];
  readonly restarts: readonly Restart[];
  readonly snapshot: Snapshot;
  saidTo(task: TaskId, name: string): string | undefined;
}

export interface Verdict {
  readonly problems: readonly Problem[];
  readonly findings: StepFindings;
  readonly resumptions: readonly Resumption[];
}

/** What came of a restart after which no other kill came in between. */
interface Resumption {
  /** Until the next step of any task. */
  readonly ms: number;
  /** Until a new process ran its own code. */
  readonly startMs: number;
  readonly afterAll: boolean;
}

/** Two seconds of it are the rest of tasks whose process died soon after their claim. */
export const longestResumeMs = 5_000;
/** What Node itself takes to start, at most, when the machine has nothing else to do. More is not held against us. */
const usualStartMs = 300;
/** Generous, for a machine that has other things to do. */
const longestLatenessMs = 5_000;
/**
 * What a kill may cost a timer, or a step in flight: no worker may live for a while, and the one that takes over may
 * be killed too. Still less than is left of a lease, because the dead are told by their locks.
 */
const longestTakeOverMs = 10_000;

/** On a machine that is `slowness` times as slow as usual, everything may take so many times as long. */
export function judge(evidence: Case, slowness = 1): Verdict {
  const { run, acknowledged, lives, saidTo } = evidence;
  const snapshot = ofRun(evidence.snapshot, run);
  const findings = checkSteps(
    [...acknowledged.values()].map((id) => ({ id, programme: voyage })),
    {
      evidence: evidence.evidence,
      lives,
      saidTo,
      outcomeOf: (id) => {
        const task = snapshot.tasks.get(id);
        return task?.phase === 'done' ? task.outcome : undefined;
      },
    },
  );
  const resumptions = resumptionsIn(evidence);
  const problems = [
    ...findings.problems,
    ...crossCheck(findings.tasks.keys(), snapshot, evidence.evidence),
    ...creationProblems(evidence, snapshot),
    ...[...findings.tasks].flatMap(([id, programme]) =>
      questionProblems(snapshot.tasks.get(id), programme, saidTo),
    ),
    ...problemsOf(snapshot).map((text) => broken(text)),
    ...resumptions
      .filter(({ ms, startMs }) => ms - Math.max(0, startMs - usualStartMs) > slowness * longestResumeMs)
      .map(({ ms, startMs }) =>
        broken(`After a restart no step ran for ${ms} ms, ${startMs} of which Node took to start.`),
      ),
    ...findings.repeats
      .filter(({ afterMs }) => afterMs > slowness * longestTakeOverMs)
      .map(({ afterMs }) => broken(`A step in flight was run again only ${afterMs} ms after the kill.`)),
    ...findings.timers
      .filter(
        ({ lateMs, disturbed }) => lateMs > slowness * (disturbed ? longestTakeOverMs : longestLatenessMs),
      )
      .map(({ lateMs }) => broken(`A timer was ${lateMs} ms late.`)),
  ];
  return { problems, findings, resumptions };
}

/** The part of the database that this run made. */
function ofRun({ rows, tasks, commits, ...rest }: Snapshot, run: string): Snapshot {
  const ids = new Set(rows.filter(({ owner }) => owner === run).map(({ id }) => id));
  const within = <T>(all: ReadonlyMap<TaskId, T>) => new Map([...all].filter(([id]) => ids.has(id)));
  return {
    ...rest,
    rows: rows.filter(({ id }) => ids.has(id)),
    tasks: within(tasks),
    commits: within(commits),
  };
}

/** For each voyage that was ordered there is one task, and there is no other. */
function creationProblems({ ordered, acknowledged }: Case, { tasks }: Snapshot): Problem[] {
  const problems: Problem[] = [];
  const roots = [...tasks.values()].filter(({ parentId }) => parentId === undefined);
  for (let n = 1; n <= ordered; n++) {
    const id = acknowledged.get(n);
    const found = roots.filter(({ idempotency }) => idempotency?.key === keyOf(n)).map((task) => task.id);
    if (id === undefined) problems.push({ kind: 'lost', text: `Voyage ${n} was ordered and never created.` });
    else if (found.length !== 1 || found[0] !== id)
      problems.push({
        kind: 'lost',
        task: id,
        text: `voyage ${n} was acknowledged as this task, and is ${found}`,
      });
  }
  if (roots.length > ordered)
    problems.push(broken(`${ordered} voyages were ordered, and there are ${roots.length} of them.`));
  return problems;
}

/** Exactly the questions of the programme, each under its one key, each with the answer that it was given. */
function questionProblems(
  task: Task | undefined,
  { questions }: Programme,
  saidTo: Case['saidTo'],
): Problem[] {
  if (!task) return [];
  const asked = task.inputs.map((input) => {
    const answer =
      input.state === 'answered' ? (input.response as { content?: { words?: string } }) : undefined;
    return `${input.key} ${input.state} ${answer?.content?.words ?? ''}`;
  });
  const wanted = questions.map(
    ({ key, state }) => `${key} ${state} ${state === 'answered' ? saidTo(task.id, key) : ''}`,
  );
  return asked.join() === wanted.join()
    ? []
    : [{ kind: 'broken', task: task.id, text: `has the questions ${asked}, and should have ${wanted}` }];
}

function resumptionsIn({ evidence, lives, restarts }: Case): Resumption[] {
  const moments = [...evidence.lines.values()].flatMap((lines) => lines.map(({ at }) => at));
  moments.sort((a, b) => a - b);
  const kills = lives.flatMap(({ killedAt }) => killedAt ?? []);
  return restarts.flatMap(({ at, afterAll, lives: started }) => {
    const next = moments.find((moment) => moment >= at) ?? Number.POSITIVE_INFINITY;
    if (kills.some((kill) => kill >= at && kill < next)) return [];
    const startMs = Math.min(...started.map(({ readyAt }) => (readyAt ?? at) - at));
    return [{ ms: next - at, startMs, afterAll }];
  });
}

function broken(text: string): Problem {
  return { kind: 'broken', text };
}
