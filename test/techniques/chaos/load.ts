/**
 * Random work by the real rules, in several loops at once so that commits are grouped: tasks are made (some under
 * an idempotency key that other processes use too), claimed, journaled, asked, answered, given subtasks, parked,
 * released, completed, failed, cancelled and purged. Refusals are part of such a life; any other error is not.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Change, Verdict } from '../../../src/engine/change.ts';
import { claimTasks } from '../../../src/engine/claims.ts';
import type { Claim, Claimed, Database } from '../../../src/engine/queue.ts';
import type { Reach } from '../../../src/engine/store.ts';
import * as rules from '../../../src/engine/transitions.ts';
import { Refusal, TaskMoved } from '../../../src/model/errors.ts';
import { newId } from '../../../src/model/id.ts';
import type { InputRequest, InputResponse } from '../../../src/model/input.ts';
import { type NewTask, openInputs, type Task, type TaskId } from '../../../src/model/task.ts';
import { aTask } from '../../../src/testing.ts';
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

export class Load {
  readonly #database: Database;
  readonly #random: Random;
  readonly #say: (line: Line) => void;
  readonly #held = new Map<TaskId, Claim>();
  /** Loops that found nothing to claim. */
  readonly #idle: (() => void)[] = [];
  #stopped = false;
  #commits = 0;

  constructor(database: Database, random: Random, say: (line: Line) => void) {
    this.#database = database;
    this.#random = random;
    this.#say = say;
  }

  /** Works until that many changes were acknowledged. */
  async run(commits = Infinity): Promise<void> {
    const loops = [
      this.#repeat(() => this.#create()),
      ...Array.from({ length: 8 }, () => this.#repeat(() => this.#claimAndPass())),
      ...owners.map((owner) => this.#visitAll(owner)),
      this.#repeat(() => this.#tidy()),
      this.#repeat(() => this.#renew()),
      this.#repeat(async () => {
        this.#stopped ||= this.#commits >= commits;
        await pause(1);
      }),
    ];
    const stop = this.#database.queue.onWork(() => {
      for (const wake of this.#idle.splice(0)) wake();
    });
    await Promise.all(loops);
    stop();
  }

  async #repeat(act: () => Promise<void>): Promise<void> {
    while (!this.#stopped) await this.#lawfully(act);
  }

  async #lawfully(act: () => Promise<unknown>): Promise<void> {
    await act().catch((error) => {
      if (!(error instanceof Refusal)) throw error;
      this.#say({ kind: 'refused', name: error.name });
    });
  }

  async #commit(change: Promise<Change>): Promise<Task> {
    const done = await change;
    this.#commits++;
    if (done.writes.length + done.removed.length > 0) this.#say(committed(done));
    return done.task;
  }

  #update<R extends keyof Reach>(
    reach: R,
    id: TaskId,
    decide: (subject: Reach[R]) => Verdict,
  ): Promise<Task> {
    return this.#commit(this.#database.store.update(reach, id, decide));
  }

  // --- Making tasks ---------------------------------------------------------------------------------------

  async #create(): Promise<void> {
    const some = Array.from({ length: this.#random.between(1, 4) }, () =>
      this.#lawfully(() => (this.#random.chance(0.3) ? this.#createKeyed() : this.#createPlain())),
    );
    await Promise.all(some);
    await pause(this.#random.between(0, 12));
  }

  async #createPlain(): Promise<void> {
    const request = this.#request();
    const { name } = this.#database.queue;
    const holder = this.#random.chance(0.2) ? { name, leaseMs: longLeaseMs } : undefined;
    const task = await this.#commit(
      this.#database.store.create(undefined, () => rules.create(undefined, request, Date.now(), holder)),
    );
    if (holder) await this.#pass({ task, claim: { taskId: task.id, epoch: task.epoch } });
  }

  async #createKeyed(): Promise<void> {
    const key = `key ${this.#random.between(1, 400)}`;
    const argumentsDigest = this.#random.chance(0.05) ? 'of other arguments' : 'of the arguments';
    const request: NewTask = {
      ...this.#request(),
      tool: tools[0].tool,
      toolVersion: tools[0].version,
      owner: owners[0],
      // Kept, so that the key stands for one task from the first process to the last.
      retention: { from: 'finish', ms: null },
      idempotency: { key, argumentsDigest },
    };
    const scope = { owner: request.owner, tool: request.tool, key };
    const task = await this.#commit(
      this.#database.store.create(scope, (existing) => rules.create(existing, request, Date.now())),
    );
    this.#say({ kind: 'keyed', key, id: task.id });
  }

  #request(): NewTask {
    const { tool, version } = this.#random.oneOf(tools);
    return aTask({
      tool,
      toolVersion: version,
      owner: this.#random.oneOf(owners),
      arguments: { n: this.#random.between(1, 1_000), padding: 'x'.repeat(this.#random.between(0, 300)) },
      deadlineMs: this.#random.chance(0.05) ? this.#random.between(20, 400) : 3_600_000,
      retention: { from: 'finish', ms: this.#random.chance(0.3) ? this.#random.between(0, 200) : 3_600_000 },
    });
  }

  // --- Passes ---------------------------------------------------------------------------------------------

  async #claimAndPass(): Promise<void> {
    const leaseMs = this.#random.chance(0.15) ? shortLeaseMs : longLeaseMs;
    const limit = this.#random.between(1, 4);
    const claimed = await claimTasks(this.#database, { tools, limit, leaseMs, now: Date.now });
    // The claim is a commit too; its events are read back from the feed rather than from the change.
    for (const { task } of claimed) this.#say({ kind: 'read', id: task.id, version: task.version });
    const renewed = leaseMs === longLeaseMs;
    await Promise.all(claimed.map((one) => this.#lawfully(() => this.#pass(one, renewed))));
    if (claimed.length === 0)
      await Promise.race([pause(100), new Promise<void>((resolve) => this.#idle.push(resolve))]);
  }

  async #pass({ task: claimedTask, claim }: Claimed, renewed = true): Promise<void> {
    if (renewed) this.#held.set(claim.taskId, claim);
    try {
      let task = claimedTask;
      if (!renewed && this.#random.chance(0.3)) await pause(shortLeaseMs * 1.5);
      for (let acts = this.#random.between(0, 5); acts > 0; acts--) task = await this.#act(task, claim);
      await this.#endPass(task, claim);
    } finally {
      this.#held.delete(claim.taskId);
    }
  }

  async #act(task: Task, claim: Claim): Promise<Task> {
    const { id } = task;
    const draw = this.#random.next();
    if (draw < 0.5) {
      // Steps that end together are journaled by commands of the same batch.
      const recorded = Array.from({ length: this.#random.between(1, 3) }, () =>
        this.#update('task', id, (now) => rules.record(now, claim, [{ entry: newId() }], Date.now())),
      );
      return (await Promise.all(recorded)).at(-1)!;
    }
    if (draw < 0.6) {
      const said = { message: 'At work', progress: { done: this.#random.between(0, 10), total: 10 } };
      return this.#update('task', id, (now) => rules.report(now, claim, said, Date.now()));
    }
    if (draw < 0.75) {
      const key = this.#random.oneOf(['approval', 'review']);
      const asked = { key, request: question };
      return this.#update('task', id, (now) => rules.ask(now, claim, asked, Date.now(), [{ key }]));
    }
    if (draw < 0.9 && task.depth < 3 && task.childCount < 4) {
      const request = this.#request();
      const journal = [{ child: request.id }];
      return this.#update('task', id, (now) => rules.startChild(now, claim, request, Date.now(), journal));
    }
    await pause(this.#random.between(0, 8));
    return task;
  }

  async #endPass(task: Task, claim: Claim): Promise<void> {
    const { id } = task;
    const waits = openInputs(task).length > 0 || task.liveChildCount > 0;
    const draw = this.#random.next();
    const result = { kind: 'result', isError: false, value: { token: newId() } } as const;
    const failure = { kind: 'failure', message: `Broken ${newId()}` } as const;
    if (draw < (waits ? 0.6 : 0.15)) await this.#park(task, claim, waits);
    else if (draw < 0.8)
      await this.#update('lineage', id, (around) =>
        rules.complete(around, claim, result, Date.now(), ['end']),
      );
    else if (draw < 0.9)
      await this.#update('family', id, (around) => rules.fail(around, claim, failure, Date.now()));
    else await this.#update('task', id, (now) => rules.release(now, claim, Date.now()));
  }

  async #park({ id, version }: Task, claim: Claim, waits: boolean): Promise<void> {
    const until = waits && this.#random.chance(0.7) ? null : Date.now() + this.#random.between(5, 100);
    try {
      const rest = { seenVersion: version, until };
      await this.#update('task', id, (now) => rules.park(now, claim, rest, Date.now()));
    } catch (error) {
      if (!(error instanceof TaskMoved)) throw error;
      const moved = await this.#database.store.get(id);
      if (moved) await this.#endPass(moved, claim);
    }
  }

  async #renew(): Promise<void> {
    await pause(250);
    const lost = await this.#database.queue.renew([...this.#held.values()], longLeaseMs);
    for (const claim of lost) if (this.#held.get(claim.taskId) === claim) this.#held.delete(claim.taskId);
  }

  // --- From outside ---------------------------------------------------------------------------------------

  /** Walks all trees of an owner, again and again, as a requestor or an operator would. */
  async #visitAll(owner: string): Promise<void> {
    while (!this.#stopped) {
      for await (const root of listed(this.#database.store, { owner, limit: 10 })) {
        if (this.#stopped) return;
        if (root.phase !== 'done') await this.#lawfully(() => this.#visit(root.id));
        else if (this.#random.chance(0.02))
          this.#say({ kind: 'read', id: root.id, version: root.version, outcome: root.outcome });
        await pause(this.#random.between(0, 1));
      }
      await pause(this.#random.between(1, 10));
    }
  }

  async #visit(id: TaskId): Promise<void> {
    const family = await this.#database.store.family(id);
    if (!family) return;
    const all = [family.task, ...family.descendants];
    const waiting = all.filter((task) => task.phase === 'waiting');
    await Promise.all(waiting.map((task) => this.#lawfully(() => this.#respond(task))));
    const live = all.filter((task) => task.phase !== 'done');
    if (live.length === 0 || !this.#random.chance(0.02)) return;
    const { id: cancelled } = this.#random.oneOf(live);
    await this.#update('family', cancelled, (around) => rules.cancel(around, Date.now(), newId()));
  }

  async #respond(task: Task): Promise<void> {
    const keys = openInputs(task).map(({ key }) => key);
    const draw = this.#random.next();
    if (draw < 0.6) {
      const responses = Object.fromEntries(keys.map((key) => [key, answerTo(key)]));
      await this.#update('task', task.id, (now) => rules.answer(now, responses, Date.now()));
    } else if (draw < 0.7) {
      await this.#update('task', task.id, (now) => rules.withdraw(now, keys.slice(0, 1), Date.now()));
    } else if (draw < 0.75) {
      const unfit = { [keys[0]!]: { action: 'accept', content: {} } };
      await this.#update('task', task.id, (now) => rules.answer(now, unfit, Date.now()));
    }
  }

  async #tidy(): Promise<void> {
    const { store } = this.#database;
    const ends = { deadline: rules.passDeadline, purge: rules.purge } as const;
    for (const what of ['deadline', 'purge'] as const) {
      const due = await store.due(what, Date.now(), 20);
      const end = (id: TaskId) => this.#update('family', id, (around) => ends[what](around, Date.now()));
      await Promise.all(due.map((id) => this.#lawfully(() => end(id))));
    }
    await pause(this.#random.between(10, 40));
  }
}
