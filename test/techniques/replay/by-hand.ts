/** Passes of handlers written by hand, one at a time. */
import type { TaskContext } from '../../../src/engine/context.ts';
import { readJournal } from '../../../src/engine/journal.ts';
import { Pass } from '../../../src/engine/pass.ts';
import type { PassEnd } from '../../../src/engine/pass-host.ts';
import type { Json } from '../../../src/model/json.ts';
import type { Task } from '../../../src/model/task.ts';
import { anyHost, calm, hostIn, type Manners, run } from './host.ts';
import type { World } from './world.ts';

export type HandlerByHand = (task: TaskContext) => Promise<unknown>;

/** One pass of the task in this world. */
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
  const asking = { now: () => task.createdAt, commit: never, look: never, park: never, schedule: never };
  const pass = new Pass(readJournal(records), task, { ...anyHost, taskId: task.id, ...asking });
  return run(pass, task, handler);
}
