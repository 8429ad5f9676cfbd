/**
 * Random work by the real rules, in several loops at once so that commits are grouped: tasks are made (some under
 * an idempotency key that other processes use too), claimed, journaled, asked, answered, given subtasks, parked,
 * released, completed, failed, cancelled and purged. Refusals are part of such a life; any other error is not.
 */
import { setTimeout as pause } from 'node:timers/promises';
import * as rules from '../../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../../src/engine/worker/claiming.ts';
import type { InputRequest, InputResponse } from '../../../src/index.ts';
import { hasCode, Refusal } from '../../../src/model/errors.ts';
import { newId } from '../../../src/model/id.ts';
import { type NewTask, openInputs, type Task, type TaskId } from '../../../src/model/task.ts';
import type { Claim, Claimed, Database } from '../../../src/ports/queue.ts';
import type { Change, Reach, Verdict } from '../../../src/store.ts';
import { aTask } from '../../../src/store-testing.ts';
import { listed } from '../../kit/listed.ts';
import type { Random } from '../../kit/random.ts';
import { committed, type Line } from './acknowledgement.ts';

export const owners = ['alice', 'bob'] as const;
export const tools = [
  { tool: 'publish_report', version: '1' },
  { tool: 'summarise', version: '2' },
] as const;

/** So long that a claim of a killed process is freed by its death, not by its lease. */
const longLeaseMs = 60_000;
/** So short that living workers lose claims to each other, too. */
const shortLeaseMs = 100;

const question: InputRequest = {
  kind: 'form',
  message: 'Publish?',
  schema: { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] },
};

export function answerTo(key: string): InputResponse {
  return { action: 'accept', content: { note: `yes to ${key}, ${newId().slice(0, 8)}` } };
}

/** Works until `enough` changes were acknowledged. */
export async function work(database: Database, random: Random, say: (line: Line) => void, enough = Infinity) {
  const { store, queue } = database;
  const held = new Map<TaskId, Claim>();
  /** Loops that found nothing to claim. */
  const idle: (() => void)[] = [];
  let commits = 0;
  let isOver = false;

  const stop = queue.onWork(() => {
    for (const wake of idle.splice(0)) wake();
  });
  await Promise.all([
    repeat(create),
    ...Array.from({ length: 8 }, () => repeat(claimAndPass)),
    ...owners.map(visitAll),
    repeat(tidy),
    repeat(renew),
    repeat(async () => {
      isOver ||= commits >= enough;
      await pause(1);
    }),
  ]);
  stop();

  async function repeat(act: () => Promise<void>): Promise<void> {
    while (!isOver) await lawfully(act);
  }

  async function lawfully(act: () => Promise<unknown>): Promise<void> {
    await act().catch((error) => {
      if (!(error instanceof Refusal)) throw error;
      say({ kind: 'refused', name: error.name });
    });
  }

  async function commit(change: Promise<Change>): Promise<Task> {
    const done = await change;
    commits++;
    if (done.writes.length + done.removed.length > 0) say(committed(done));
    return done.task;
  }

  function update<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    decide: (subject: Reach[R]) => Verdict,
  ): Promise<Task> {
    return commit(store.update(reach, id, decide));
  }

  async function create(): Promise<void> {
    const some = Array.from({ length: random.between(1, 4) }, () =>
      lawfully(() => (random.chance(0.3) ? createKeyed() : createPlain())),
    );
    await Promise.all(some);
    await pause(random.between(0, 12));
  }

  async function createPlain(): Promise<void> {
    const request = someRequest();
    const holder = random.chance(0.2) ? { name: queue.name, leaseMs: longLeaseMs } : undefined;
    const task = await commit(
      store.create(undefined, () => rules.create(undefined, request, Date.now(), holder)),
    );
    if (holder) await pass({ task, claim: { taskId: task.id, epoch: task.epoch } });
  }

  async function createKeyed(): Promise<void> {
    const key = `key ${random.between(1, 400)}`;
    const argumentsDigest = random.chance(0.05) ? 'of other arguments' : 'of the arguments';
    const request: NewTask = {
      ...someRequest(),
      tool: tools[0].tool,
      toolVersion: tools[0].version,
      owner: owners[0],
      // Kept, so that the key stands for one task from the first process to the last.
      retention: { from: 'finish', ms: null },
      idempotency: { key, argumentsDigest },
    };
    const scope = { owner: request.owner, tool: request.tool, key };
    const task = await commit(store.create(scope, (existing) => rules.create(existing, request, Date.now())));
    say({ kind: 'keyed', key, id: task.id });
  }

  function someRequest(): NewTask {
    const { tool, version } = random.oneOf(tools);
    return aTask({
      tool,
      toolVersion: version,
      owner: random.oneOf(owners),
      arguments: { n: random.between(1, 1_000), padding: 'x'.repeat(random.between(0, 300)) },
      deadlineMs: random.chance(0.05) ? random.between(20, 400) : 3_600_000,
      retention: { from: 'finish', ms: random.chance(0.3) ? random.between(0, 200) : 3_600_000 },
    });
  }

  async function claimAndPass(): Promise<void> {
    const leaseMs = random.chance(0.15) ? shortLeaseMs : longLeaseMs;
    const limit = random.between(1, 4);
    const claimed = await claimTasks(database, { tools, limit, leaseMs, now: Date.now });
    // The claim is a commit too; its events are read back from the feed rather than from the change.
    for (const { task } of claimed) say({ kind: 'read', id: task.id, version: task.version });
    const renewed = leaseMs === longLeaseMs;
    await Promise.all(claimed.map((one) => lawfully(() => pass(one, renewed))));
    if (claimed.length === 0)
      await Promise.race([pause(100), new Promise<void>((resolve) => idle.push(resolve))]);
  }

  async function pass({ task: claimedTask, claim }: Claimed, renewed = true): Promise<void> {
    if (renewed) held.set(claim.taskId, claim);
    try {
      let task = claimedTask;
      if (!renewed && random.chance(0.3)) await pause(shortLeaseMs * 1.5);
      for (let acts = random.between(0, 5); acts > 0; acts--) task = await act(task, claim);
      await endPass(task, claim);
    } finally {
      held.delete(claim.taskId);
    }
  }

  async function act(task: Task, claim: Claim): Promise<Task> {
    const { id } = task;
    const draw = random.next();
    if (draw < 0.5) {
      // Steps that end together are journaled by commands of the same batch.
      const recorded = Array.from({ length: random.between(1, 3) }, () =>
        update('task', id, (now) => rules.record(now, claim, [{ entry: newId() }], Date.now())),
      );
      return (await Promise.all(recorded)).at(-1)!;
    }
    if (draw < 0.6) {
      const said = { message: 'At work', progress: { done: random.between(0, 10), total: 10 } };
      return update('task', id, (now) => rules.report(now, claim, said, Date.now()));
    }
    if (draw < 0.75) {
      const key = random.oneOf(['approval', 'review']);
      const asked = { key, request: question };
      return update('task', id, (now) => rules.ask(now, claim, asked, Date.now(), [{ key }]));
    }
    if (draw < 0.9 && task.depth < 3 && task.childCount < 4) {
      const request = someRequest();
      const journal = [{ child: request.id }];
      return update('task', id, (now) => rules.startChild(now, claim, request, Date.now(), journal));
    }
    await pause(random.between(0, 8));
    return task;
  }

  async function endPass(task: Task, claim: Claim): Promise<void> {
    const { id } = task;
    const waits = openInputs(task).length > 0 || task.liveChildCount > 0;
    const draw = random.next();
    const result = { kind: 'result', isError: false, value: { token: newId() } } as const;
    const failure = { kind: 'failure', message: `Broken ${newId()}` } as const;
    if (draw < (waits ? 0.6 : 0.15)) await park(task, claim, waits);
    else if (draw < 0.8)
      await update('lineage', id, (around) => rules.complete(around, claim, result, Date.now(), ['end']));
    else if (draw < 0.9)
      await update('family', id, (around) => rules.fail(around, claim, failure, Date.now()));
    else await update('task', id, (now) => rules.release(now, claim, Date.now()));
  }

  async function park({ id, version }: Task, claim: Claim, waits: boolean): Promise<void> {
    const until = waits && random.chance(0.7) ? null : Date.now() + random.between(5, 100);
    try {
      const rest = { seenVersion: version, until };
      await update('task', id, (now) => rules.park(now, claim, rest, Date.now()));
    } catch (error) {
      if (!hasCode(error, 'TASK_MOVED')) throw error;
      const moved = await store.get(id);
      if (moved) await endPass(moved, claim);
    }
  }

  async function renew(): Promise<void> {
    await pause(250);
    const lost = await queue.renew([...held.values()], longLeaseMs);
    for (const claim of lost) if (held.get(claim.taskId) === claim) held.delete(claim.taskId);
  }

  /** Walks all trees of an owner, again and again, as a requestor or an operator would. */
  async function visitAll(owner: string): Promise<void> {
    while (!isOver) {
      for await (const root of listed(store, { owner, limit: 10 })) {
        if (isOver) return;
        if (root.phase !== 'done') await lawfully(() => visit(root.id));
        else if (random.chance(0.02))
          say({ kind: 'read', id: root.id, version: root.version, outcome: root.outcome });
        await pause(random.between(0, 1));
      }
      await pause(random.between(1, 10));
    }
  }

  async function visit(id: TaskId): Promise<void> {
    const family = await store.family(id);
    if (!family) return;
    const all = [family.task, ...family.descendants];
    const waiting = all.filter((task) => task.phase === 'waiting');
    await Promise.all(waiting.map((task) => lawfully(() => respond(task))));
    const live = all.filter((task) => task.phase !== 'done');
    if (live.length === 0 || !random.chance(0.02)) return;
    const { id: cancelled } = random.oneOf(live);
    await update('family', cancelled, (around) => rules.cancel(around, Date.now(), newId()));
  }

  async function respond(task: Task): Promise<void> {
    const keys = openInputs(task).map(({ key }) => key);
    const draw = random.next();
    if (draw < 0.6) {
      const responses = Object.fromEntries(keys.map((key) => [key, answerTo(key)]));
      await update('task', task.id, (now) => rules.answer(now, responses, Date.now()));
    } else if (draw < 0.7) {
      await update('task', task.id, (now) => rules.withdraw(now, keys.slice(0, 1), Date.now()));
    } else if (draw < 0.75) {
      const unfit = { [keys[0]!]: { action: 'accept', content: {} } };
      await update('task', task.id, (now) => rules.answer(now, unfit, Date.now()));
    }
  }

  async function tidy(): Promise<void> {
    const ends = { deadline: rules.passDeadline, purge: rules.purge } as const;
    for (const what of ['deadline', 'purge'] as const) {
      const due = await store.due(what, Date.now(), 20);
      const end = (id: TaskId) => update('family', id, (around) => ends[what](around, Date.now()));
      await Promise.all(due.map((id) => lawfully(() => end(id))));
    }
    await pause(random.between(10, 40));
  }
}
