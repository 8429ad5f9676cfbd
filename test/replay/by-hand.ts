/** Passes of handlers written by hand, one at a time. */
import { type TaskContext, taskContext } from '../../src/engine/context.ts';
import { type Journal, readJournal } from '../../src/engine/journal.ts';
import { unobservedPass } from '../../src/engine/observer.ts';
import { Pass } from '../../src/engine/pass.ts';
import type { PassEnd, PassHost } from '../../src/engine/pass-host.ts';
import type { Json } from '../../src/model/json.ts';
import type { Task } from '../../src/model/task.ts';
import { Host, type Manners } from './host.ts';
import { subtaskTool } from './tell.ts';
import type { World } from './world.ts';

export type HandlerByHand = (task: TaskContext) => Promise<unknown>;

export interface Circumstances {
  /** The worker dies after so many commits. */
  readonly diesAfter?: number;
  /** Happens while a commit is under way. */
  readonly duringCommit?: (pass: Pass) => void;
}

/** One pass of the task in this world. */
export async function onePassOf(
  world: World,
  handler: HandlerByHand,
  { diesAfter = Infinity, duringCommit }: Circumstances = {},
): Promise<PassEnd> {
  const claim = world.claim('worker');
  if (!claim) throw new Error('The task is parked.');
  const last = world.commits + diesAfter;
  const manners: Manners = {
    lingerMs: 0,
    pause: async () => duringCommit?.(pass),
    fate: () => (world.commits + 1 >= last ? 'unheard' : 'heard'),
    die: () => pass.stop(),
  };
  const { task } = world;
  const host = new Host(world, claim, manners);
  const pass = new Pass(world.journal(), task, host);
  const forget = world.onChange(() => pass.poke());
  const end = await run(pass, task, handler);
  forget();
  if (host.problems.length > 0) throw new Error(host.problems.join('\n'));
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
  const journal: Journal = readJournal(records);
  const never = () => {
    throw new Error('A replay of the whole journal asked for more.');
  };
  const host: PassHost = {
    taskId: task.id,
    lingerMs: 0,
    longestJournal: 10_000,
    mostOpenCalls: 10_000,
    largestValue: 10_000,
    observed: unobservedPass,
    now: () => task.createdAt,
    interrupts: () => false,
    isHeld: () => true,
    began: () => {},
    commit: never,
    look: never,
    park: never,
    schedule: never,
  };
  return run(new Pass(journal, task, host), task, handler);
}

function run(pass: Pass, task: Task, handler: HandlerByHand): Promise<PassEnd> {
  const context = taskContext({
    task,
    tool: subtaskTool,
    pass,
    signal: new AbortController().signal,
    report: () => {},
    cancel: async () => {},
  });
  pass.run(() => handler(context));
  return pass.ended;
}
