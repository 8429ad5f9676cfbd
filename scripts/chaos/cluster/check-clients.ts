/**
 * Checks the guarantees for clients: acknowledged requests have effect, outcomes are final, and a later poll never
 * shows an older version. One request comes before another only if it was answered before the other was sent.
 */
import type { TaskId } from '../../../src/index.ts';
import type { Problem } from '../problem.ts';
import { hasEnded } from './caller.ts';
import type { Answered, Cancelled, Created, History, Notified, Opened, Polled, Seen } from './history.ts';

/** A subscription must report the end of a task within this time after a client saw it. */
const notifiesWithinMs = 5_000;

export function checkClients(history: History): Problem[] {
  const polls = Map.groupBy(of(history, 'polled'), ({ task }) => task);
  const notified = Map.groupBy(of(history, 'notified'), ({ task }) => task);
  const tasks = new Set(of(history, 'created').map(({ task }) => task));
  const clocksAreRight = of(history, 'clock').length === 0;
  return [
    ...creations(history),
    ...[...tasks].flatMap((task) => {
      const seen = polls.get(task) ?? [];
      const received = notified.get(task) ?? [];
      return [
        ...existence(task, seen),
        ...finality(task, seen, received),
        ...monotony(task, seen, clocksAreRight),
        ...streamOrder(task, received, clocksAreRight),
      ];
    }),
    ...of(history, 'answered').flatMap((answer) => answerKept(answer, polls.get(answer.task) ?? [])),
    ...of(history, 'cancelled').flatMap((cancel) => cancelKept(cancel, polls.get(cancel.task) ?? [])),
    ...streamsNotified(history, polls),
  ];
}

/** Every order created exactly one task, and no two orders the same one. */
function creations(history: History): Problem[] {
  const acknowledged = Map.groupBy(of(history, 'created'), ({ key }) => key);
  const orders = of(history, 'ordered').map(({ key }) => ({
    key,
    tasks: [...new Set((acknowledged.get(key) ?? []).map(({ task }: Created) => task))],
  }));
  const seen = new Map<TaskId, string>();
  return orders.flatMap(({ key, tasks }): Problem[] => {
    if (tasks.length === 0) return [{ kind: 'lost', text: `${key} was ordered but never created` }];
    if (tasks.length > 1)
      return [{ kind: 'broken', text: `${key} was created as ${tasks.join(' and as ')}` }];
    const [task] = tasks as [TaskId];
    const other = seen.get(task);
    seen.set(task, key);
    return other === undefined ? [] : [broken(task, `was given to ${other} and to ${key}`)];
  });
}

function existence(task: TaskId, polls: readonly Polled[]): Problem[] {
  return polls
    .filter(({ seen }) => seen === null)
    .slice(0, 1)
    .map(({ server }) => ({ kind: 'lost', task, text: `was acknowledged, but ${server} cannot find it` }));
}

/** All clients saw the same end, and none saw the task unfinished afterwards. */
function finality(task: TaskId, polls: readonly Polled[], notified: readonly Notified[]): Problem[] {
  const ends = [...polls, ...notified].flatMap(({ seen, at }) =>
    seen && hasEnded(seen) ? [{ seen, at }] : [],
  );
  const [first] = ends.toSorted((a, b) => a.at - b.at);
  if (!first) return [{ kind: 'lost', task, text: 'never ended' }];
  const others = ends.filter(({ seen }) => !isSameEnd(seen, first.seen));
  const undone = polls.filter(({ seen, from }) => seen && from > first.at && !hasEnded(seen));
  return [
    ...others
      .slice(0, 1)
      .map(({ seen }) => broken(task, `ended as ${worded(first.seen)}, then as ${worded(seen)}`)),
    ...undone
      .slice(0, 1)
      .map(({ seen, server }) =>
        broken(task, `ended as ${first.seen.status}, but ${server} showed it as ${seen!.status}`),
      ),
  ];
}

/**
 * Progress never decreases from one poll to a later one on any server. Neither does the time of the last update, unless
 * clocks were moved.
 */
function monotony(task: TaskId, polls: readonly Polled[], clocksAreRight: boolean): Problem[] {
  const problems: Problem[] = [];
  const answered = polls.filter(({ seen }) => seen !== null).toSorted((a, b) => a.at - b.at);
  const asked = answered.toSorted((a, b) => a.from - b.from);
  // The newest values in answers that arrived before the next request was sent.
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
      problems.push(
        broken(task, `its progress was ${progress}, but ${server} later showed ${seen!.progress}`),
      );
  }
  return problems.slice(0, 1);
}

function streamOrder(task: TaskId, notified: readonly Notified[], clocksAreRight: boolean): Problem[] {
  return [...Map.groupBy(notified, ({ stream }) => stream).values()].flatMap((frames) =>
    frames.slice(1).flatMap(({ seen }, index): Problem[] => {
      const before = frames[index]!.seen;
      if ((!clocksAreRight || seen.updatedAt >= before.updatedAt) && !hasEnded(before)) return [];
      return [broken(task, `one subscription reported ${worded(before)}, then ${worded(seen)}`)];
    }),
  );
}

/** A question with an acknowledged answer is no longer open. */
function answerKept({ task, question, at }: Answered, polls: readonly Polled[]): Problem[] {
  const open = polls.find(({ seen, from }) => at !== null && from > at && seen?.questions.includes(question));
  if (!open) return [];
  return [
    {
      kind: 'lost',
      task,
      text: `its answer to ${question} was acknowledged, but ${open.server} asked again`,
    },
  ];
}

/** A task with an acknowledged cancellation has ended: cancelled, unless it was done before. */
function cancelKept({ task, at }: Cancelled, polls: readonly Polled[]): Problem[] {
  if (at === null) return [];
  const live = polls.find((look) => look.from > at && look.seen && !hasEnded(look.seen));
  if (live)
    return [
      { kind: 'lost', task, text: `was cancelled, but ${live.server} showed it as ${live.seen!.status}` },
    ];
  const end = polls.find(({ seen }) => seen && hasEnded(seen))?.seen;
  return end?.status === 'failed' ? [broken(task, 'was cancelled, but ended as failed')] : [];
}

/** Every subscription that stays open reports the end. */
function streamsNotified(history: History, polls: ReadonlyMap<TaskId, readonly Polled[]>): Problem[] {
  const closed = new Map(of(history, 'closed').map((one) => [one.stream, one]));
  const notified = Map.groupBy(of(history, 'notified'), ({ stream }) => stream);
  return of(history, 'opened').flatMap(({ stream, task, at, server }: Opened): Problem[] => {
    const end = polls.get(task)?.find(({ seen }) => seen && hasEnded(seen));
    const { at: until, by } = closed.get(stream) ?? { at: Number.POSITIVE_INFINITY, by: 'them' };
    if (!end || by === 'them' || until - Math.max(at, end.at) < notifiesWithinMs) return [];
    if (notified.get(stream)?.some(({ seen }) => hasEnded(seen))) return [];
    return [
      broken(task, `ended, but a subscription on ${server} was not notified for ${notifiesWithinMs} ms`),
    ];
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
