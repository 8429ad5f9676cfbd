/**
 * Runs all checks of a run: on the files of the steps, on the answers and events that were sent, and on the database.
 */
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
  /** The acknowledged tasks by number of the voyage, and how many were ordered. */
  readonly acknowledged: ReadonlyMap<number, TaskId>;
  readonly ordered: number;
  readonly evidence: Evidence;
  readonly lives: readonly Life[];
  readonly restarts: readonly Restart[];
  readonly snapshot: Snapshot;
  sentTo(task: TaskId, name: string): string | undefined;
}

export interface Verdict {
  readonly problems: readonly Problem[];
  readonly findings: StepFindings;
  readonly resumptions: readonly Resumption[];
}

/** How work resumed after a restart, if no other kill came in between. */
interface Resumption {
  /** Until the next step of any task. */
  readonly ms: number;
  /** Until a new process ran its own code. */
  readonly startMs: number;
  readonly afterAll: boolean;
}

/** Two seconds of this are the delay for tasks whose process died soon after their claim. */
export const maxResumeMs = 5_000;
/** The longest time that Node itself takes to start on an idle machine. More time is subtracted. */
const usualStartMs = 300;
/** Generous, for a busy machine. */
const maxLatenessMs = 5_000;
/**
 * The longest delay that a kill may cause for a timer or an interrupted step. There may be no live worker for a while,
 * and the one that takes over may be killed, too. Still less than a lease, because locks reveal dead workers.
 */
const maxTakeOverMs = 10_000;

/** `slowness` multiplies all time limits, for a slow machine. */
export function judge(evidence: Case, slowness = 1): Verdict {
  const { run, acknowledged, lives, sentTo } = evidence;
  const snapshot = ofRun(evidence.snapshot, run);
  const findings = checkSteps(
    [...acknowledged.values()].map((id) => ({ id, programme: voyage })),
    {
      evidence: evidence.evidence,
      lives,
      sentTo,
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
      questionProblems(snapshot.tasks.get(id), programme, sentTo),
    ),
    ...problemsOf(snapshot).map((text) => broken(text)),
    ...resumptions
      .filter(({ ms, startMs }) => ms - Math.max(0, startMs - usualStartMs) > slowness * maxResumeMs)
      .map(({ ms, startMs }) =>
        broken(`After a restart no step ran for ${ms} ms, ${startMs} of which Node took to start.`),
      ),
    ...findings.repeats
      .filter(({ afterMs }) => afterMs > slowness * maxTakeOverMs)
      .map(({ afterMs }) => broken(`An interrupted step ran again only ${afterMs} ms after the kill.`)),
    ...findings.timers
      .filter(({ lateMs, disturbed }) => lateMs > slowness * (disturbed ? maxTakeOverMs : maxLatenessMs))
      .map(({ lateMs }) => broken(`A timer was ${lateMs} ms late.`)),
  ];
  return { problems, findings, resumptions };
}

/** The part of the database that belongs to this run. */
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

/** There is exactly one task for each ordered voyage, and no other task. */
function creationProblems({ ordered, acknowledged }: Case, { tasks }: Snapshot): Problem[] {
  const problems: Problem[] = [];
  const roots = [...tasks.values()].filter(({ parentId }) => parentId === undefined);
  for (let n = 1; n <= ordered; n++) {
    const id = acknowledged.get(n);
    const found = roots.filter(({ idempotency }) => idempotency?.key === keyOf(n)).map((task) => task.id);
    if (id === undefined) problems.push({ kind: 'lost', text: `Voyage ${n} was ordered but never created.` });
    else if (found.length !== 1 || found[0] !== id)
      problems.push({
        kind: 'lost',
        task: id,
        text: `voyage ${n} was acknowledged as this task, but is ${found}`,
      });
  }
  if (roots.length > ordered)
    problems.push(broken(`${ordered} voyages were ordered, but there are ${roots.length} of them.`));
  return problems;
}

/** The task has exactly the questions of the programme, each with its key and the answer that was sent. */
function questionProblems(
  task: Task | undefined,
  { questions }: Programme,
  sentTo: Case['sentTo'],
): Problem[] {
  if (!task) return [];
  const asked = task.inputs.map((input) => {
    const answer =
      input.state === 'answered' ? (input.response as { content?: { words?: string } }) : undefined;
    return `${input.key} ${input.state} ${answer?.content?.words ?? ''}`;
  });
  const wanted = questions.map(
    ({ key, state }) => `${key} ${state} ${state === 'answered' ? sentTo(task.id, key) : ''}`,
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
