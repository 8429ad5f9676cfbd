/** Commands for the test suites of databases. Each one runs the real rule, at the current time of the test's clock. */

import * as rules from '../../engine/rules/transitions.ts';
import { type ClaimRequest, claimTasks } from '../../engine/worker/claiming.ts';
import type { Json } from '../../model/json.ts';
import type { Failed, Success } from '../../model/outcome.ts';
import type { TaskStatus } from '../../model/status.ts';
import type { NewTask, Task, TaskId } from '../../model/task.ts';
import type { Change, Verdict } from '../../ports/change.ts';
import type { HistoryPage } from '../../ports/query.ts';
import type { Claim, Claimed, Database, FreedWorker } from '../../ports/queue.ts';
import type { Reach, Store } from '../../ports/store.ts';
import { aTask } from '../fixtures.ts';
import type { ManualClock } from '../manual-clock.ts';

/** Keeps a finished task for one second only. `purge` depends on that time. */
export const briefly: Partial<NewTask> = { retention: { from: 'finish', ms: 1_000 } };
export const success = { kind: 'result', isError: false, value: { content: [] } } as const;
export const leaseMs = 15_000;
export const tools = [
  { tool: 'publish_report', version: '1' },
  { tool: 'summarise', version: '1' },
];

export function ids(tasks: readonly Pick<Task, 'id'>[]): TaskId[] {
  return tasks.map(({ id }) => id);
}

export function versions(page: HistoryPage): number[] {
  return page.commits.map(({ version }) => version);
}

export class StoreCommands {
  readonly #database: Database;
  readonly #clock: ManualClock;

  constructor(database: Database, clock: ManualClock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Runs a rule on a task and the relatives that `reach` names. */
  act<R extends keyof Reach>(
    reach: R,
    { id }: Pick<Task, 'id'>,
    rule: (subject: Reach[R], at: number) => Verdict,
  ): Promise<Change> {
    return this.#database.store.update(reach, id, (subject) => rule(subject, this.#clock.now()));
  }

  /** Creates a task, with defaults for everything that is not given. `identity` is passed to `Store.create`. */
  async create(given: Partial<NewTask> = {}, identity?: Parameters<Store['create']>[0]): Promise<Task> {
    const request = aTask(given);
    const { task } = await this.#database.store.create(identity, (existing) =>
      rules.create(existing, request, this.#clock.now()),
    );
    return task;
  }

  /** Claims a task for a worker with this name, which need not exist. */
  async claimOne({ id }: Pick<Task, 'id'>, name = 'worker', freed?: FreedWorker): Promise<Claim> {
    const { task } = await this.act('task', { id }, (now, at) =>
      rules.claim(now, { name, leaseMs }, at, freed),
    );
    return { taskId: id, epoch: task.epoch };
  }

  /** Creates a task and claims it. */
  async claimed(given: Partial<NewTask> = {}): Promise<{ task: Task; claim: Claim }> {
    const { id } = await this.create(given);
    const claim = await this.claimOne({ id });
    return { task: (await this.#database.store.get(id))!, claim };
  }

  /** Claims ready tasks for this process, as a worker does. */
  claim(request: Partial<ClaimRequest> = {}): Promise<Claimed[]> {
    const now = () => this.#clock.now();
    return claimTasks(this.#database, { tools, limit: 10, leaseMs, now, ...request });
  }

  async startChild(claim: Claim, given: Partial<NewTask> = {}): Promise<Task> {
    const request = aTask({ tool: 'summarise', ...given });
    await this.act('task', { id: claim.taskId }, (parent, at) =>
      rules.startChild(parent, claim, request, at),
    );
    return (await this.#database.store.get(request.id))!;
  }

  record(claim: Claim, journal: readonly Json[]): Promise<Change> {
    return this.act('task', { id: claim.taskId }, (task, at) => rules.record(task, claim, journal, at));
  }

  /** Asks a question of the kind `roots`. */
  ask(claim: Claim): Promise<Change> {
    const question = { key: 'roots', request: { kind: 'roots' } } as const;
    return this.act('task', { id: claim.taskId }, (task, at) => rules.ask(task, claim, question, at));
  }

  /**
   * Parks a task until the given time; null for no timer. `claimedVersion` is that of the claim, to detect idle passes.
   */
  park(claim: Claim, until: number | null, claimedVersion?: number): Promise<Change> {
    return this.act('task', { id: claim.taskId }, (task, at) =>
      rules.park(task, claim, { seenVersion: task.version, until, claimedVersion }, at),
    );
  }

  release(claim: Claim): Promise<Change> {
    return this.act('task', { id: claim.taskId }, (task, at) => rules.release(task, claim, at));
  }

  complete(claim: Claim, outcome: Success = success): Promise<Change> {
    return this.act('lineage', { id: claim.taskId }, (lineage, at) =>
      rules.complete(lineage, claim, outcome, at),
    );
  }

  publish(task: Pick<Task, 'id'>): Promise<Change> {
    return this.act('task', task, rules.publish);
  }

  /** Cancels the task and its subtasks. */
  end(task: Pick<Task, 'id'>): Promise<Change> {
    return this.act('family', task, (family, at) => rules.cancel(family, at));
  }

  /** Moves the clock by a second and purges the task. Create it with `briefly` and finish it first. */
  purge(task: Pick<Task, 'id'>): Promise<Change> {
    this.#clock.advance(1_000);
    return this.act('family', task, rules.purge);
  }

  /** Creates a root task with this status and returns its id. */
  async withStatus(status: TaskStatus, given: Partial<NewTask> = {}): Promise<TaskId> {
    const { id } = await this.create(given);
    if (status === 'queued') return id;
    const claim = await this.claimOne({ id });
    if (status === 'waiting') await this.ask(claim);
    else if (status === 'completed') await this.complete(claim);
    else if (status !== 'running')
      await this.act('family', { id }, (family, at) => rules.fail(family, claim, outcomes[status], at));
    return id;
  }
}

const outcomes: Readonly<Record<'failed' | 'cancelled' | 'lost', Failed>> = {
  failed: { kind: 'failure', message: 'Out of ink.' },
  cancelled: { kind: 'cancelled' },
  lost: { kind: 'lost', message: 'Nobody knows.' },
};
