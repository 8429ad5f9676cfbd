/**
 * Commands on their way into the database. Those that wait at the same time share a transaction: its tasks are locked
 * by one statement and written by one, however many commands there are, and each command sees what those before it
 * left. A few transactions run beside each other; commands on the same task never do, and keep their order.
 */
import type { Change, Verdict } from '../../engine/change.ts';
import { crashPoint } from '../../engine/crash-point.ts';
import type { IdempotencyScope, Reach } from '../../engine/store.ts';
import { StoreClosed, StoreCorrupt, StoreError } from '../../engine/store-errors.ts';
import type { Clock } from '../../model/clock.ts';
import { Refusal, TaskNotFound } from '../../model/errors.ts';
import type { Task, TaskId } from '../../model/task.ts';
import { worded } from './driver.ts';
import type { Feed } from './feed.ts';
import type { Jobs } from './jobs.ts';
import type { Transaction } from './pool.ts';
import { type Closure, familyIn, lineageIn, type Rows, SubtasksMissing } from './rows.ts';
import type { Vault } from './vault.ts';
import { type NumberedNotice, Writes, writeStatements } from './writes.ts';

/** Beside each other, each on a connection of its own. */
const lanes = 3;
const largestBatch = 256;
/** Subtasks that were started meanwhile are looked for so often. */
const looks = 10;

/** What a command must see, and what it then decides. */
export type Order =
  | {
      readonly kind: 'create';
      readonly bearing: IdempotencyScope | { readonly id: TaskId } | undefined;
      readonly decide: (existing: Task | undefined) => Verdict;
    }
  | {
      readonly kind: 'update';
      readonly reach: keyof Reach;
      readonly id: TaskId;
      readonly decide: (subject: Reach[keyof Reach]) => Verdict;
    };

interface Command {
  readonly order: Order;
  /** Commands with the same one run one after the other. */
  readonly subject: string | undefined;
  readonly resolve: (change: Change) => void;
  readonly reject: (error: unknown) => void;
}

type Decided = { readonly change: Change } | { readonly error: unknown };

interface Parts {
  readonly rows: Rows;
  readonly vault: Vault;
  readonly jobs: Jobs;
  readonly feed: Feed;
  readonly clock: Clock;
  readonly schema: string;
  readonly place: string;
  /** What this process is called among those who add to the size. */
  readonly writer: string;
}

export class Commands {
  readonly #parts: Parts;
  readonly #sql: ReturnType<typeof writeStatements>;
  readonly #underWay = new Set<string>();
  readonly #idle: (() => void)[] = [];
  #waiting: Command[] = [];
  /** Those that are free. */
  readonly #lanes = Array.from({ length: lanes }, (_, lane) => lane);
  #scheduled = false;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sql = writeStatements(parts.schema);
  }

  submit(order: Order): Promise<Change> {
    if (this.#closed) return Promise.reject(new StoreClosed(this.#parts.place));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ order, subject: subjectOf(order), resolve, reject });
      this.#schedule();
    });
  }

  /** Lets what was submitted finish, and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waiting.length > 0 || this.#lanes.length < lanes)
      await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#lanes.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const batch = this.#take();
      if (batch.length === 0) return;
      const lane = this.#lanes.pop()!;
      void this.#run(batch, lane).finally(() => {
        this.#lanes.push(lane);
        for (const { subject } of batch) if (subject !== undefined) this.#underWay.delete(subject);
        if (this.#waiting.length > 0) this.#schedule();
        for (const resolve of this.#idle.splice(0)) resolve();
      });
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  /** The next ones, without those whose subject is in another transaction. */
  #take(): Command[] {
    const batch: Command[] = [];
    const left: Command[] = [];
    for (const command of this.#waiting) {
      const isFree = command.subject === undefined || !this.#underWay.has(command.subject);
      (isFree && batch.length < largestBatch ? batch : left).push(command);
    }
    this.#waiting = left;
    for (const { subject } of batch) if (subject !== undefined) this.#underWay.add(subject);
    return batch;
  }

  async #run(batch: readonly Command[], lane: number): Promise<void> {
    const { vault, feed, place } = this.#parts;
    let decided: Decided[] = [];
    let notices: readonly NumberedNotice[] = [];
    let leftWork = false;
    try {
      await vault.transact(async (transaction) => {
        feed.forget(notices);
        [decided, notices, leftWork] = await this.#decideAndWrite(transaction, batch, lane);
        feed.committing(notices);
        crashPoint('commit: written');
      });
    } catch (error) {
      feed.forget(notices);
      // What one command alone does wrong must not be the fault of the others.
      if (batch.length > 1 && isOfOneCommand(error)) {
        for (const command of batch) await this.#run([command], lane);
        return;
      }
      for (const { reject } of batch) reject(error);
      return;
    }
    crashPoint('commit: durable');
    await feed.committed(notices, leftWork);
    for (const [index, one] of decided.entries()) {
      if ('error' in one) batch[index]!.reject(worded(one.error, place));
      else batch[index]!.resolve(one.change);
    }
  }

  async #decideAndWrite(
    transaction: Transaction,
    batch: readonly Command[],
    lane: number,
  ): Promise<[Decided[], readonly NumberedNotice[], boolean]> {
    const { rows, vault, jobs, clock } = this.#parts;
    // No other transaction adds to the size under this name meanwhile.
    const writer = `${this.#parts.writer}/${lane}`;
    const orders = batch.map(({ order }) => order);
    const closure = closureOf(orders);
    const scopes = orders.flatMap((order) =>
      order.kind === 'create' && order.bearing && !('id' in order.bearing) ? [order.bearing] : [],
    );
    for (let look = 1; ; look++) {
      const writes = new Writes(vault);
      if (closure.tasks.length > 0) writes.add(await rows.lock(transaction, closure), rows);
      if (scopes.length > 0) writes.add(await rows.lockBearers(transaction, scopes), rows);
      try {
        const decided = orders.map((order) => decide(order, writes, clock.now()));
        if (writes.isEmpty) return [decided, [], false];
        // Later than any rule could have said, so that what is ready by a rule is ready.
        const now = clock.now();
        const { notices, sent, deleted, leftWork } = await writes.flush(transaction, this.#sql, {
          now,
          writer,
        });
        await jobs.send(transaction, sent);
        await jobs.delete(transaction, deleted);
        return [decided, notices, leftWork];
      } catch (error) {
        if (!(error instanceof SubtasksMissing) || look === looks) throw error;
      }
    }
  }
}

/** What a value or a row does wrong; where the server itself is in trouble, all commands share it. */
function isOfOneCommand(error: unknown): boolean {
  return !(error instanceof StoreError) || error.constructor === StoreError || error instanceof StoreCorrupt;
}

function subjectOf(order: Order): string | undefined {
  if (order.kind === 'update') return order.id;
  if (!order.bearing) return undefined;
  if ('id' in order.bearing) return order.bearing.id;
  const { owner, tool, key } = order.bearing;
  return JSON.stringify([owner, tool, key]);
}

function closureOf(orders: readonly Order[]): Closure {
  const updates = orders.flatMap((order) => (order.kind === 'update' ? [order] : []));
  const borne = orders.flatMap((order) =>
    order.kind === 'create' && order.bearing && 'id' in order.bearing ? [order.bearing.id] : [],
  );
  const of = (reach: keyof Reach) => updates.filter((order) => order.reach === reach).map(({ id }) => id);
  return {
    tasks: [...new Set([...borne, ...updates.map(({ id }) => id)])],
    lineages: of('lineage'),
    families: of('family'),
  };
}

function decide(order: Order, writes: Writes, now: number): Decided {
  const verdict = verdictOn(order, writes.tasks);
  if (verdict instanceof Refusal) return { error: verdict };
  if ('error' in verdict) return verdict;
  writes.apply(verdict, now);
  return { change: verdict };
}

/** What a rule throws is the fault of its command alone. */
function verdictOn(order: Order, tasks: ReadonlyMap<TaskId, Task>): Verdict | { readonly error: unknown } {
  try {
    return order.kind === 'create' ? creation(order, tasks) : update(order, tasks);
  } catch (error) {
    if (error instanceof SubtasksMissing) throw error;
    return { error };
  }
}

function creation(
  { bearing, decide }: Extract<Order, { kind: 'create' }>,
  tasks: ReadonlyMap<TaskId, Task>,
): Verdict {
  if (!bearing) return decide(undefined);
  if ('id' in bearing) return decide(tasks.get(bearing.id));
  const { owner, tool, key } = bearing;
  for (const task of tasks.values())
    if (task.idempotency?.key === key && task.owner === owner && task.tool === tool) return decide(task);
  return decide(undefined);
}

function update(order: Extract<Order, { kind: 'update' }>, tasks: ReadonlyMap<TaskId, Task>): Verdict {
  const { reach, id, decide } = order;
  const subject =
    reach === 'task' ? tasks.get(id) : reach === 'lineage' ? lineageIn(tasks, id) : familyIn(tasks, id);
  return subject ? decide(subject) : new TaskNotFound(id);
}
