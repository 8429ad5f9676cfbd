/** The worker's part, played for one pass: commits that take their time, and deaths at the worst moments. */

import { type TaskContext, taskContext } from '../../../src/engine/handlers/context.ts';
import { advance } from '../../../src/engine/replay/batch.ts';
import type { Call } from '../../../src/engine/replay/call.ts';
import { type Batch, readJournal } from '../../../src/engine/replay/journal.ts';
import { Pass, type PassEnd, type PassHost } from '../../../src/engine/replay/pass.ts';
import { engineLimits } from '../../../src/engine/rules/limits.ts';
import * as rules from '../../../src/engine/rules/transitions.ts';
import type { Json, Task, TaskId } from '../../../src/index.ts';
import { hasCode, refusal } from '../../../src/model/errors.ts';
import { compose, type Verdict } from '../../../src/ports/change.ts';
import { unobservedPass } from '../../../src/ports/observer.ts';
import type { Claim } from '../../../src/store.ts';
import { subtaskTool } from './tell.ts';
import type { World } from './world.ts';

const limits = engineLimits({ maxValueSize: 10_000 });

export type HandlerByHand = (task: TaskContext) => Promise<unknown>;

export interface Manners {
  readonly lingerMs: number;
  pause(): Promise<void>;
  /** Of a commit to the journal: all is well; the worker died before it, or after it and before the answer arrived. */
  fate(): 'heard' | 'lost' | 'unheard';
}

/** A worker with all the time in the world. */
export const calm: Manners = { lingerMs: 0, pause: async () => {}, fate: () => 'heard' };

/** The part of a host that is the same for all. */
const anyHost = {
  lingerMs: () => 0,
  maxJournalEntries: 10_000,
  limits,
  observed: unobservedPass,
  isClaimCertain: () => true,
  attemptStarted: () => {},
  interrupts: () => false,
};

export function run(
  pass: Pass,
  task: Task,
  handler: HandlerByHand,
  cancel: (id: TaskId, reason?: string) => Promise<void> = async () => {},
): Pass['ended'] {
  const { signal } = new AbortController();
  const context = taskContext({ task, tool: subtaskTool, pass, signal, report: () => {}, cancel, limits });
  pass.run(() => handler(context));
  return pass.ended;
}

/** A host in this world, which calls `die` when its worker dies at a commit. */
export function hostIn(world: World, claim: Claim, manners: Manners, die: () => void) {
  const activity = {
    /** Commits and looks that are under way. */
    underWay: 0,
    /** Grows with everything that a pass asks for. */
    asked: 0,
    /** What no pass may ask of its worker. */
    problems: [] as string[],
  };
  let seen = world.task;
  let isStale = false;

  const lasting = async <T>(act: () => Promise<T>): Promise<T> => {
    activity.asked++;
    activity.underWay++;
    try {
      return await act();
    } finally {
      activity.underWay--;
      activity.asked++;
    }
  };
  const advanced = (task: Task, batch: Batch, calls: readonly Call[], keys: Map<Call, string>) =>
    advance(task, claim, { batch, calls, report: {} }, world.now, keys);
  /** The dead receive nothing. */
  const dead = () => {
    die();
    return new Promise<never>(() => {});
  };
  const write = async (toJournal: boolean, decide: (task: Task) => Verdict): Promise<void> => {
    await manners.pause();
    const fate = toJournal ? manners.fate() : 'heard';
    if (fate === 'lost') return dead();
    seen = world.update(decide);
    isStale = false;
    if (fate === 'unheard') return dead();
    await manners.pause();
  };

  const host: PassHost = {
    ...anyHost,
    taskId: world.taskId,
    lingerMs: () => manners.lingerMs,
    now() {
      activity.asked++;
      return world.now;
    },
    schedule(at, callback) {
      activity.asked++;
      if (!(at > world.now)) activity.problems.push(`An alarm was set to ${at}, at ${world.now}`);
      return world.schedule(at, callback);
    },
    commit: (batch, calls) =>
      lasting(async () => {
        const keys = new Map<Call, string>();
        await write(true, (task) => advanced(task, batch, calls, keys));
        for (const [call, key] of keys) call.key = key;
        return seen;
      }),
    refresh: (_, awaited) =>
      lasting(async () => {
        await manners.pause();
        const done = [...awaited.keys()]
          .map((id) => world.read(id))
          .flatMap((subtask) => (subtask?.phase === 'done' ? [[subtask.id, subtask.outcome] as const] : []));
        seen = world.task;
        isStale = false;
        return { task: seen, children: new Map(done), isComplete: true };
      }),
    park(until, batch, calls) {
      const { version } = seen;
      if (isStale) activity.problems.push('A park that was refused was tried again without a look');
      const decide = (task: Task) => {
        if (task.version !== version) return refusal('TASK_MOVED', task.id, version, task.version);
        const before = batch
          ? advanced(task, batch, calls, new Map())
          : rules.report(task, claim, {}, world.now);
        return compose(before, (now) =>
          rules.park(now, claim, { seenVersion: now.version, until }, world.now),
        );
      };
      return lasting(async () => {
        try {
          await write(batch !== undefined, decide);
          return true;
        } catch (error) {
          if (!hasCode(error, 'TASK_MOVED')) throw error;
          isStale = true;
          return false;
        }
      });
    },
  };
  return { host, activity };
}

export async function onePassOf(
  world: World,
  handler: HandlerByHand,
  { diesAfter = Infinity, duringCommit }: { diesAfter?: number; duringCommit?: (pass: Pass) => void } = {},
): Promise<PassEnd> {
  const claim = world.claim('worker');
  if (!claim) throw new Error('The task is parked.');
  const last = world.commits + diesAfter;
  const manners: Manners = {
    ...calm,
    pause: async () => duringCommit?.(pass),
    fate: () => (world.commits + 1 >= last ? 'unheard' : 'heard'),
  };
  const { task } = world;
  const { host, activity } = hostIn(world, claim, manners, () => pass.stop());
  const pass = new Pass(world.journal(), task, host);
  world.onChange = () => pass.poke();
  const end = await run(pass, task, handler);
  world.onChange = () => {};
  if (activity.problems.length > 0) throw new Error(activity.problems.join('\n'));
  return end;
}

/** Passes of the task in this world until its handler ends; while it is parked, the first thing that can happen does. */
export async function toTheEnd(world: World, handler: HandlerByHand): Promise<PassEnd> {
  for (;;) {
    while (world.isParked) world.happenings()[0]!.happen();
    const end = await onePassOf(world, handler);
    if (end.type !== 'parked') return end;
  }
}

/** Replays a whole journal: nothing may be done, and nothing be written. */
export function replayOf(records: readonly Json[], task: Task, handler: HandlerByHand): Promise<PassEnd> {
  const never = () => {
    throw new Error('A replay of the whole journal asked for more.');
  };
  const asking = { now: () => task.createdAt, commit: never, refresh: never, park: never, schedule: never };
  const pass = new Pass(readJournal(records), task, { ...anyHost, taskId: task.id, ...asking });
  return run(pass, task, handler);
}
