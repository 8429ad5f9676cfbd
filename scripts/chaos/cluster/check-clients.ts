/**
 * What clients may rely on: what was acknowledged stays so, what has ended has ended, and nobody who asks later is shown
 * something older. One request comes before another only if it was answered before the other was sent.
 */
import type { TaskId } from '../../../src/index.ts';
import type { Problem } from '../problem.ts';
import { hasEnded } from './caller.ts';
import type { Answered, Cancelled, Created, History, Looked, Opened, Seen, Told } from './history.ts';

/** A subscription that was open for so long after a client had been shown the end should have told of it. */
const tellsWithinMs = 5_000;

export function checkClients(history: History): Problem[] {
  const looks = Map.groupBy(of(history, 'looked'), ({ task }) => task);
  const told = Map.groupBy(of(history, 'told'), ({ task }) => task);
  const tasks = new Set(of(history, 'created').map(({ task }) => task));
  const clocksAreRight = of(history, 'clock').length === 0;
  return [
    ...creations(history),
    ...[...tasks].flatMap((task) => {
      const seen = looks.get(task) ?? [];
      const heard = told.get(task) ?? [];
      return [
        ...existence(task, seen),
        ...finality(task, seen, heard),
        ...monotony(task, seen, clocksAreRight),
        ...streamOrder(task, heard, clocksAreRight),
      ];
    }),
    ...of(history, 'answered').flatMap((answer) => answerKept(answer, looks.get(answer.task) ?? [])),
    ...of(history, 'cancelled').flatMap((cancel) => cancelKept(cancel, looks.get(cancel.task) ?? [])),
    ...streamsTold(history, looks),
  ];
}

/** Every order became one task, the same however often it was acknowledged, and no two orders the same one. */
function creations(history: History): Problem[] {
  const acknowledged = Map.groupBy(of(history, 'created'), ({ key }) => key);
  const orders = of(history, 'ordered').map(({ key }) => ({
    key,
    tasks: [...new Set((acknowledged.get(key) ?? []).map(({ task }: Created) => task))],
  }));
  const seen = new Map<TaskId, string>();
  return orders.flatMap(({ key, tasks }): Problem[] => {
    if (tasks.length === 0) return [{ kind: 'lost', text: `${key} was ordered and never created` }];
    if (tasks.length > 1)
      return [{ kind: 'broken', text: `${key} was created as ${tasks.join(' and as ')}` }];
    const [task] = tasks as [TaskId];
    const other = seen.get(task);
    seen.set(task, key);
    return other === undefined ? [] : [broken(task, `was given to ${other} and to ${key}`)];
  });
}

function existence(task: TaskId, looks: readonly Looked[]): Problem[] {
  return looks
    .filter(({ seen }) => seen === null)
    .slice(0, 1)
    .map(({ server }) => ({ kind: 'lost', task, text: `was acknowledged, and ${server} does not know it` }));
}

/** Whoever was shown an end was shown the same one, and nobody was shown less after it. */
function finality(task: TaskId, looks: readonly Looked[], told: readonly Told[]): Problem[] {
  const ends = [...looks, ...told].flatMap(({ seen, at }) => (seen && hasEnded(seen) ? [{ seen, at }] : []));
  const [first] = ends.toSorted((a, b) => a.at - b.at);
  if (!first) return [{ kind: 'lost', task, text: 'never ended' }];
  const others = ends.filter(({ seen }) => !isSameEnd(seen, first.seen));
  const undone = looks.filter(({ seen, from }) => seen && from > first.at && !hasEnded(seen));
  return [
    ...others
      .slice(0, 1)
      .map(({ seen }) => broken(task, `ended as ${worded(first.seen)}, and then as ${worded(seen)}`)),
    ...undone
      .slice(0, 1)
      .map(({ seen, server }) =>
        broken(task, `had ended as ${first.seen.status}, and ${server} showed it as ${seen!.status}`),
      ),
  ];
}

/**
 * Progress never runs backwards from one look to a later one, whichever servers gave them; nor does time, unless
 * clocks were moved.
 */
function monotony(task: TaskId, looks: readonly Looked[], clocksAreRight: boolean): Problem[] {
  const problems: Problem[] = [];
  const answered = looks.filter(({ seen }) => seen !== null).toSorted((a, b) => a.at - b.at);
  const asked = answered.toSorted((a, b) => a.from - b.from);
  // The newest of what had been answered when the next request was sent.
  let updatedAt = '';
  let progress = 0;
  let next = 0;
  for (const { from, seen, server } of asked) {
    for (; next < answered.length && answered[next]!.at < from; next++) {
      const before = answered[next]!.seen!;
      if (before.updatedAt > updatedAt) updatedAt = before.updatedAt;
      progress = Math.max(progress, before.progress);
    }
    if (clocksAreRight && seen!.updatedAt < updatedAt)
      problems.push(
        broken(task, `was shown as of ${updatedAt}, and later by ${server} as of ${seen!.updatedAt}`),
      );
    if (seen!.progress < progress)
      problems.push(broken(task, `had come to ${progress}, and ${server} later showed ${seen!.progress}`));
  }
  return problems.slice(0, 1);
}

function streamOrder(task: TaskId, told: readonly Told[], clocksAreRight: boolean): Problem[] {
  return [...Map.groupBy(told, ({ stream }) => stream).values()].flatMap((frames) =>
    frames.slice(1).flatMap(({ seen }, index): Problem[] => {
      const before = frames[index]!.seen;
      if ((!clocksAreRight || seen.updatedAt >= before.updatedAt) && !hasEnded(before)) return [];
      return [broken(task, `one subscription told ${worded(before)}, and after that ${worded(seen)}`)];
    }),
  );
}

/** A question whose answer was acknowledged is not open any more. */
function answerKept({ task, question, at }: Answered, looks: readonly Looked[]): Problem[] {
  const open = looks.find(({ seen, from }) => at !== null && from > at && seen?.questions.includes(question));
  if (!open) return [];
  return [
    {
      kind: 'lost',
      task,
      text: `its answer to ${question} was acknowledged, and ${open.server} asked again`,
    },
  ];
}

/** A task whose cancellation was acknowledged has ended: cancelled, unless it had been done before. */
function cancelKept({ task, at }: Cancelled, looks: readonly Looked[]): Problem[] {
  if (at === null) return [];
  const live = looks.find((look) => look.from > at && look.seen && !hasEnded(look.seen));
  if (live)
    return [
      { kind: 'lost', task, text: `was cancelled, and ${live.server} showed it as ${live.seen!.status}` },
    ];
  const end = looks.find(({ seen }) => seen && hasEnded(seen))?.seen;
  return end?.status === 'failed' ? [broken(task, 'was cancelled, and ended as failed')] : [];
}

/** Whoever stays subscribed hears of the end. */
function streamsTold(history: History, looks: ReadonlyMap<TaskId, readonly Looked[]>): Problem[] {
  const closed = new Map(of(history, 'closed').map((one) => [one.stream, one]));
  const told = Map.groupBy(of(history, 'told'), ({ stream }) => stream);
  return of(history, 'opened').flatMap(({ stream, task, at, server }: Opened): Problem[] => {
    const end = looks.get(task)?.find(({ seen }) => seen && hasEnded(seen));
    const { at: until, by } = closed.get(stream) ?? { at: Number.POSITIVE_INFINITY, by: 'them' };
    if (!end || by === 'them' || until - Math.max(at, end.at) < tellsWithinMs) return [];
    if (told.get(stream)?.some(({ seen }) => hasEnded(seen))) return [];
    return [broken(task, `had ended, and a subscription on ${server} was not told for ${tellsWithinMs} ms`)];
  });
}

export function of<What extends History[number]['what']>(
  history: History,
  what: What,
): Extract<History[number], { what: What }>[] {
  return history.filter((entry) => entry.what === what) as Extract<History[number], { what: What }>[];
}

function isSameEnd(a: Seen, b: Seen): boolean {
  return a.status === b.status && a.result === b.result && a.updatedAt === b.updatedAt;
}

function worded({ status, updatedAt, result }: Seen): string {
  return `${status} at ${updatedAt}${result === undefined ? '' : ` with ${result.slice(0, 80)}`}`;
}

function broken(task: TaskId, text: string): Problem {
  return { kind: 'broken', task, text };
}
