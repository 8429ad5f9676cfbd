/** Log entries for task events. They never contain arguments, questions, answers or results. */
import type { TaskEvent } from '../model/event.ts';
import type { Json } from '../model/json.ts';
import { outcomeWord } from '../model/outcome.ts';
import type { Owner, Task, TaskId } from '../model/task.ts';
import type { Change, TaskWrite } from '../ports/change.ts';
import { type ObservedPass, type Observer, quietly, type Warning } from '../ports/observer.ts';
import { batchIn } from './replay/journal.ts';

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** In milliseconds since 1970, by the clock in the options of `createTasks`. */
  readonly at: number;
  /** What happened: `created`, `claimed`, `recovered`, `retrying`, `asked`, `finished` … */
  readonly event: string;
  readonly task?: TaskId;
  readonly tool?: string;
  readonly owner?: Owner;
  readonly detail?: Readonly<Record<string, Json>>;
}

export type Log = (entry: LogEntry) => void;

/** An observer that forwards everything to `observer` and also writes log entries. */
export function logged(observer: Observer, log: Log): Observer {
  const { metrics } = observer;
  const suspicions = new RepeatFilter<string>(60_000);
  const failures = new RepeatFilter<string>(10_000);
  const damages = new RepeatFilter<TaskId>(600_000);
  return {
    opened: (database, tools) => observer.opened(database, tools),
    origin: (origin, tool) => observer.origin(origin, tool),
    committed(change) {
      observer.committed(change);
      for (const entry of entriesOf(change)) log(entry);
    },
    passBegan: (task) => loggedPass(observer.passBegan(task), task, log),
    overfull(fullness) {
      observer.overfull(fullness);
      const { at, ...detail } = fullness;
      log({ level: 'warn', at, event: 'overfull', detail });
    },
    warned(warning) {
      observer.warned(warning);
      log(warningEntry(warning));
    },
    storeFailed(failure) {
      observer.storeFailed(failure);
      const { at, error } = failure;
      const { trouble, message } = error;
      const times = failures.count(trouble, at);
      if (times !== undefined)
        log({ level: 'error', at, event: 'storeFailed', detail: { trouble, message, times } });
    },
    storeRecovered(recovery) {
      observer.storeRecovered(recovery);
      const { at, failedMs } = recovery;
      log({ level: 'info', at, event: 'storeRecovered', detail: { failedMs } });
    },
    corrupt(damage) {
      observer.corrupt(damage);
      const { at, task, message } = damage;
      const times = damages.count(task, at);
      if (times !== undefined)
        log({ level: 'error', at, event: 'damaged', task, detail: { message, times } });
    },
    polled: () => observer.polled(),
    refused: (limit) => observer.refused(limit),
    suspicious(suspicion) {
      observer.suspicious(suspicion);
      const { at, owner, task, ...detail } = suspicion;
      // One entry per minute for each owner and pattern is enough, for any number of tasks or addresses.
      if (suspicions.count(JSON.stringify([suspicion.pattern, owner]), at) !== undefined)
        log({ level: 'warn', at, event: 'suspicious', owner, ...(task !== undefined && { task }), detail });
    },
    ...(metrics && { metrics }),
  };
}

function warningEntry({ at, code, message, detail: { error, ...detail } }: Warning): LogEntry {
  const cause = error instanceof Error ? { error: error.stack ?? error.message } : {};
  return {
    level: 'warn',
    at,
    event: code,
    detail: { message, ...(detail as Record<string, Json>), ...cause },
  };
}

/** Only logs a pass that lost its claim. Every other end of a pass is a commit, which is logged as a change. */
function loggedPass(pass: ObservedPass, task: Task, log: Log): ObservedPass {
  return {
    handler: (run) => pass.handler(run),
    attempt: (call, run) => pass.attempt(call, run),
    ended(how, at) {
      pass.ended(how, at);
      if (how !== 'superseded') return;
      quietly(() => log({ level: 'warn', at, event: how, ...about(task), detail: { pass: task.epoch } }));
    },
  };
}

function* entriesOf({ task, writes, removed, removal }: Change): Generator<LogEntry> {
  for (const write of writes) {
    for (const event of write.events) yield { ...worded(event, write), ...about(write.task) };
    const retryAt = retriesIn(write);
    if (retryAt.length > 0)
      yield {
        level: 'warn',
        at: write.at,
        event: 'retrying',
        ...about(write.task),
        detail: { attempts: retryAt.length, retryAt: retryAt.reduce((first, at) => Math.min(first, at)) },
      };
  }
  for (const id of removed) {
    const { why, at } = removal!;
    yield {
      level: 'info',
      at,
      event: 'removed',
      task: id,
      owner: task.owner,
      detail: { root: task.id, why },
    };
  }
}

function about({ id, tool, owner }: Task): Pick<LogEntry, 'task' | 'tool' | 'owner'> {
  return { task: id, tool, owner };
}

/** The levels of some events; `worded` sets those of others. The rest are `debug`. */
const levels: Partial<Record<TaskEvent['type'], LogEntry['level']>> = {
  created: 'info',
  asked: 'info',
  answered: 'info',
  withdrawn: 'info',
  childStarted: 'info',
  completed: 'info',
  stuck: 'warn',
};

function worded(event: TaskEvent, { task, at }: TaskWrite): LogEntry {
  const { type, ...rest } = event;
  if (event.type === 'claimed' && event.takenFrom !== undefined)
    return { level: 'warn', at, event: 'recovered', detail: { pass: event.epoch, from: event.takenFrom } };
  if (event.type === 'rested')
    return { level: 'warn', at, event: 'recovered', detail: { pass: task.epoch + 1, from: event.takenFrom } };
  if (event.type === 'claimed') return { level: 'debug', at, event: type, detail: { pass: event.epoch } };
  // The content of a handler's report may be anything, so it is not logged.
  if (event.type === 'reported') return { level: 'debug', at, event: type };
  if (event.type === 'finished' && task.phase === 'done') {
    const outcome = outcomeWord(task.outcome);
    const isBad = outcome === 'failure' || outcome === 'lost';
    const level = isBad ? 'error' : outcome === 'error' ? 'warn' : 'info';
    return { level, at, event: type, detail: { outcome, ms: task.finishedAt - task.createdAt } };
  }
  const level = levels[event.type] ?? 'debug';
  return { level, at, event: type, ...(Object.keys(rest).length > 0 && { detail: rest as never }) };
}

/** When the attempts that failed in this commit are retried. A journal record that is not an array is not a batch. */
function retriesIn({ journal = [] }: TaskWrite): number[] {
  return journal.flatMap((record) =>
    Array.isArray(record) ? batchIn(record).attempts.map(({ retryAt }) => retryAt) : [],
  );
}

// --- Repetition ---------------------------------------------------------------------------------------------

/** If there are more keys, all are forgotten, so some events may be let through too early. */
const maxKeys = 10_000;

/** Lets a repeated event through once per interval and counts the others. */
export class RepeatFilter<Key> {
  readonly #everyMs: number;
  readonly #last = new Map<Key, { at: number; suppressed: number }>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** How often the event happened since it was last let through; undefined if it must be suppressed now. */
  count(key: Key, at: number): number | undefined {
    const last = this.#last.get(key);
    if (last && at - last.at < this.#everyMs) {
      last.suppressed++;
      return undefined;
    }
    if (this.#last.size >= maxKeys) this.#last.clear();
    this.#last.set(key, { at, suppressed: 0 });
    return 1 + (last?.suppressed ?? 0);
  }
}
