/**
 * Executes commands. Commands that wait at the same time share a transaction, and each decides on the result of the
 * ones before it. A few transactions run concurrently, but commands on the same task run in order, one at a time.
 *
 * On the fast path, rules decide on cached rows (`row-cache.ts`) and a single statement writes the changes, if the rows
 * have not changed. If a row is not cached or has changed, or a rule refuses, the slow path runs: lock and read,
 * decide, write, commit. A refusal is never based on a cached row.
 *
 * A claim is a separate transaction with two round trips: select and lock ready tasks (`ready-tasks.ts`); decide, write
 * and commit. It skips locked tasks instead of waiting for them, so it cannot deadlock.
 */

import { hasCode, Refusal, refusal } from '../../../model/errors.ts';
import type { Task, TaskId } from '../../../model/task.ts';
import type { Change, Verdict } from '../../../ports/change.ts';
import { crashPoint } from '../../../ports/crash-point.ts';
import type { ClaimQuery, ClaimRule, Claims, IdempotencyScope, Reach } from '../../../ports/store.ts';
import { StoreError, storeClosed } from '../../../ports/store-errors.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { runtime } from '../../../runtime/runtime.ts';
import { familyIn, lineageIn, SubtasksMissing } from '../../shared/trees.ts';
import { areRowsChanged, isDisconnected, toStoreError } from '../connections/driver.ts';
import type { Connections, Sent, Transaction } from '../connections/pool.ts';
import { type Turn, WriteLane } from '../connections/write-lanes.ts';
import type { Vault } from '../encryption/vault.ts';
import type { Urgency } from '../queue/process-liveness.ts';
import {
  type DecidedClaims,
  decideClaims,
  type Expected,
  type ReadyTasks,
  type Selected,
} from '../queue/ready-tasks.ts';
import type { Feed } from './feed.ts';
import type { RowCache } from './row-cache.ts';
import type { Closure, Rows } from './rows.ts';
import { WriteStatements, type WrittenRow } from './write-statement.ts';
import { type Flush, removeStatement, Writes, type Written } from './writes.ts';

/** The number of concurrent transactions, each on its own connection. */
export const lanes = 3;
/** The maximum number of commands in one transaction. */
const maxBatch = 256;
/** The maximum number of tries if subtasks were started while a transaction read, or if its lane lost its row. */
const maxTries = 10;
/** How long rows of `removals` are kept, so that other processes can read them. */
const keepRemovalsMs = 3_600_000;

/** A command: what it reads, and the rule that decides. `bearing` is `identity` of `Store.create`. */
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
  /**
   * The id or the idempotency key of the task; undefined for a new task without either. Commands with the same subject
   * run one after the other.
   */
  readonly subject: string | undefined;
  readonly resolve: (change: Change) => void;
  readonly reject: (error: unknown) => void;
}

/** What a claim selects, and the rule that decides. */
export interface ClaimOrder {
  readonly query: ClaimQuery;
  readonly decide: ClaimRule;
  /** Whether to select claimed tasks whose worker is dead or whose lease has expired. */
  readonly checksClaimed: boolean;
}

/** The effect of one command, or why it was rejected: the refusal of the rule, or an error. */
type Decided = { readonly change: Change } | { readonly error: unknown };

/** A committed transaction. */
interface Done {
  readonly decided: readonly Decided[];
  readonly writes: Writes;
  /** See `Flush.leftWork`. */
  readonly leftWork: boolean;
  /** The turn that the transaction used; absent if the lane was already updated or nothing was written. */
  readonly turn?: Turn;
  /** Undefined if its result was lost and the commit was confirmed afterwards. */
  readonly written: Written | undefined;
}

/** A completed claim. The optional fields are absent if it wrote nothing. */
interface ClaimDone extends Selected, DecidedClaims {
  readonly leftWork?: boolean;
  readonly turn?: Turn;
  readonly written?: Written | undefined;
}

interface Parts {
  /** For everything except the transactions of commands and claims. */
  readonly connections: Connections;
  /** One connection per lane. */
  readonly writers: Connections;
  readonly rows: Rows;
  readonly cache: RowCache;
  readonly vault: Vault;
  readonly ready: ReadyTasks;
  readonly feed: Feed;
  readonly clock: Clock;
  readonly schema: string;
  readonly place: string;
  /** The name of this process. */
  readonly process: string;
}

export class Commands {
  readonly #parts: Parts;
  readonly #statements: WriteStatements;
  readonly #remove: string;
  /** The subjects of commands in flight. */
  readonly #inFlight = new Set<string>();
  /** Called whenever a lane becomes idle. */
  readonly #idle: (() => void)[] = [];
  #waiting: Command[] = [];
  readonly #claims: ((lane: WriteLane) => Promise<void>)[] = [];
  /** The idle lanes. */
  readonly #lanes: WriteLane[];
  #scheduled = false;
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#statements = new WriteStatements(parts.schema);
    this.#remove = removeStatement(parts.schema);
    this.#lanes = Array.from(
      { length: lanes },
      (_, lane) => new WriteLane(`${parts.process}/${lane}`, parts),
    );
  }

  /** Resolves after the commit. Rejects with the refusal of the rule, or with an error. */
  submit(order: Order): Promise<Change> {
    if (this.#closed) return Promise.reject(storeClosed(this.#parts.place));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ order, subject: subjectOf(order), resolve, reject });
      this.#schedule();
    });
  }

  /** Selects ready tasks and claims those that the rule accepts. */
  claim(order: ClaimOrder): Promise<Claims & Expected> {
    if (this.#closed) return Promise.reject(storeClosed(this.#parts.place));
    return new Promise((resolve, reject) => {
      this.#claims.push((lane) => this.#claim(order, lane).then(resolve, reject));
      this.#schedule();
    });
  }

  /** Rejects new commands and waits for submitted ones. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waiting.length + this.#claims.length > 0 || this.#lanes.length < lanes)
      await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Starts a claim or a batch on an idle lane, as soon as the current event has been handled. Claims come first. */
  #schedule(): void {
    if (this.#scheduled || this.#lanes.length === 0) return;
    this.#scheduled = true;
    runtime.setImmediate(() => {
      this.#scheduled = false;
      const claim = this.#claims.shift();
      if (claim) return this.#occupy(claim);
      const batch = this.#take();
      if (batch.length === 0) return;
      this.#occupy((lane) =>
        this.#run(batch, lane).finally(() => {
          for (const { subject } of batch) if (subject !== undefined) this.#inFlight.delete(subject);
        }),
      );
    });
  }

  /** Runs `run` on an idle lane, and schedules what is waiting. */
  #occupy(run: (lane: WriteLane) => Promise<void>): void {
    const scheduleNext = () => {
      if (this.#waiting.length + this.#claims.length > 0) this.#schedule();
    };
    const lane = this.#lanes.pop()!;
    void run(lane).finally(() => {
      this.#lanes.push(lane);
      scheduleNext();
      for (const resolve of this.#idle.splice(0)) resolve();
    });
    scheduleNext();
  }

  /**
   * Removes the next batch from the waiting commands: either all for the fast path or all for the slow one. Skips
   * commands whose subject is in flight or has an earlier command that was skipped.
   */
  #take(): Command[] {
    const batch: Command[] = [];
    const left: Command[] = [];
    const skipped = new Set<string>();
    let isFast: boolean | undefined;
    for (const command of this.#waiting) {
      const { subject, order } = command;
      const isFree = subject === undefined || !(this.#inFlight.has(subject) || skipped.has(subject));
      const isCached = this.#isCached(order);
      if (isFree && batch.length < maxBatch && isCached === (isFast ?? isCached)) {
        isFast = isCached;
        batch.push(command);
      } else {
        left.push(command);
        if (subject !== undefined) skipped.add(subject);
      }
    }
    this.#waiting = left;
    for (const { subject } of batch) if (subject !== undefined) this.#inFlight.add(subject);
    return batch;
  }

  /** Whether the row cache contains everything that the rule needs. */
  #isCached(order: Order): boolean {
    if (order.kind === 'create') return order.bearing === undefined;
    const task = this.#parts.cache.get(order.id)?.task;
    if (!task) return false;
    return (
      order.reach === 'task' ||
      (task.parentId === undefined && (order.reach === 'lineage' || task.childCount === 0))
    );
  }

  async #run(batch: readonly Command[], lane: WriteLane): Promise<void> {
    const { place } = this.#parts;
    try {
      const done = (await this.#fastPath(batch, lane)) ?? (await this.#slowPath(batch, lane));
      crashPoint('commit: durable');
      await this.#publish(done);
      for (const [index, one] of done.decided.entries()) {
        if ('error' in one) batch[index]!.reject(toStoreError(one.error, place));
        else batch[index]!.resolve(one.change);
      }
    } catch (error) {
      // If one command caused the error, the others must not fail: run each separately.
      if (batch.length > 1 && isOfOneCommand(error))
        for (const command of batch) await this.#run([command], lane);
      else for (const { reject } of batch) reject(error);
    }
  }

  /** Updates the cache and the feed after a commit. */
  async #publish(
    { writes, written, leftWork }: Pick<Done, 'writes' | 'written' | 'leftWork'>,
    urgency?: Urgency,
  ): Promise<void> {
    const { feed, cache } = this.#parts;
    const claimed = new Set(written?.claimed.map(({ task }) => task.id));
    for (const id of writes.touched) if (!claimed.has(id)) cache.delete(id);
    for (const one of written?.claimed ?? []) cache.set(one);
    await feed.committed(written?.changes, leftWork, urgency);
  }

  /** Returns undefined if the fast path cannot be used or failed; then nothing was written. */
  async #fastPath(batch: readonly Command[], lane: WriteLane): Promise<Done | undefined> {
    const { writers, cache, vault } = this.#parts;
    if (!batch.every(({ order }) => this.#isCached(order))) return undefined;
    const turn = await lane.next();
    // All values of this statement are encrypted with this record. The statement fails if the store has a newer one.
    const { revision } = vault.record;
    const writes = new Writes(vault);
    for (const { order } of batch) {
      const found = order.kind === 'update' ? cache.get(order.id) : undefined;
      if (found) writes.add([found]);
    }
    const decided = this.#decideAll(batch, writes);
    if (!decided) return undefined;
    const { lists, leftWork } = writes.flush();
    const { statement, values } = this.#statements.of(lists, { revision, turn });
    try {
      crashPoint('commit: written');
      const [row] = await writers.send<WrittenRow>(statement, values);
      lane.ended(turn);
      return { decided, writes, leftWork, written: writes.written(row!) };
    } catch (error) {
      for (const id of writes.touched) cache.delete(id);
      if (areRowsChanged(error)) lane.forgetTurn();
      // Without a result, only the lane can determine whether the statement was committed.
      if (!isDisconnected(error) || !(await lane.settle(turn))) return undefined;
      return { decided, writes, leftWork, written: undefined };
    }
  }

  /**
   * Runs the rules on cached rows. Returns undefined if a rule refuses, throws or removes a task, or does not write its
   * own task: the statement verifies only the rows that it updates.
   */
  #decideAll(batch: readonly Command[], writes: Writes): Decided[] | undefined {
    const decided: Decided[] = [];
    for (const { order } of batch) {
      const verdict = verdictOn(order, writes.tasks);
      if (verdict instanceof Refusal || 'error' in verdict || verdict.removed.length > 0) return undefined;
      const subject = order.kind === 'update' ? order.id : verdict.task.id;
      if (!verdict.writes.some(({ task }) => task.id === subject)) return undefined;
      writes.apply(verdict, this.#parts.clock.now());
      decided.push({ change: verdict });
    }
    return decided;
  }

  #slowPath(batch: readonly Command[], lane: WriteLane): Promise<Done> {
    return this.#transact(lane, (transaction) => this.#lockAndWrite(transaction, batch, lane));
  }

  /** Runs `work` in a transaction of the lane. `work` may run more than once. */
  async #transact<T extends { readonly turn?: Turn }>(
    lane: WriteLane,
    work: (transaction: Transaction) => Promise<T>,
    first?: () => readonly Sent[],
  ): Promise<T> {
    const { vault, writers } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        const done = await vault.transact(work, writers, first);
        if (done.turn) lane.ended(done.turn);
        return done;
      } catch (error) {
        // The task rows are locked, so it is the row of the lane that is missing or has another turn: this process was
        // disconnected for long, and another one deleted the row.
        if (!areRowsChanged(error) || tries === maxTries) throw error;
        lane.forgetTurn();
      }
    }
  }

  /** The slow path: locks and reads the rows, decides, and writes. Reads again if subtasks were started since. */
  async #lockAndWrite(transaction: Transaction, batch: readonly Command[], lane: WriteLane): Promise<Done> {
    const { rows, vault, clock } = this.#parts;
    const orders = batch.map(({ order }) => order);
    const closure = closureOf(orders);
    const scopes = orders.flatMap((order) =>
      order.kind === 'create' && order.bearing && !('id' in order.bearing) ? [order.bearing] : [],
    );
    for (let attempt = 1; ; attempt++) {
      const writes = new Writes(vault);
      if (closure.tasks.length > 0) writes.add(await rows.lock(transaction, closure));
      if (scopes.length > 0) writes.add(await rows.lockBearers(transaction, scopes));
      try {
        const decided = orders.map((order) => decide(order, writes, clock.now()));
        if (writes.isEmpty)
          return { decided, writes, leftWork: false, written: { changes: [], claimed: [] } };
        const flush = writes.flush();
        const turn = await lane.next();
        const written = await this.#write(transaction, writes, flush, lane, turn);
        return { decided, writes, leftWork: flush.leftWork, turn, written };
      } catch (error) {
        if (!(error instanceof SubtasksMissing) || attempt === maxTries) throw error;
      }
    }
  }

  /** Writes and commits. Returns undefined if it was committed but the result was lost with the connection. */
  async #write(
    transaction: Transaction,
    writes: Writes,
    { lists, removed }: Flush,
    lane: WriteLane,
    turn: Turn,
  ): Promise<Written | undefined> {
    const { vault, clock } = this.#parts;
    const write = this.#statements.of(lists, { revision: vault.record.revision, turn });
    transaction.settle = () => lane.settle(turn);
    if (removed.length > 0) {
      // A removal needs a second statement, so the transaction commits separately.
      const [row] = await transaction.query<WrittenRow>(write.statement, write.values);
      await transaction.query({ name: 'remove', text: this.#remove }, [
        removed,
        clock.now() - keepRemovalsMs,
        // More old removals are deleted than new ones are added, so that the table does not grow.
        removed.length + 100,
      ]);
      crashPoint('commit: written');
      return writes.written(row!);
    }
    crashPoint('commit: written');
    try {
      const [row] = await transaction.commitWith<WrittenRow>(write);
      return writes.written(row!);
    } catch (error) {
      if (!isDisconnected(error) || !(await lane.settle(turn))) throw error;
      // The lane has determined that it was committed, so the failed commit must not be retried.
      transaction.settle = async () => true;
      return undefined;
    }
  }

  async #claim(order: ClaimOrder, lane: WriteLane): Promise<Claims & Expected> {
    const { feed, ready, clock, place } = this.#parts;
    const { query, decide, checksClaimed } = order;
    try {
      // If the turn in the row is unknown, this reads it. Done before rows are locked, so that only the decision takes
      // time between the two round trips. The returned turn is not used.
      await lane.next();
      const first = () => ready.opening(query, clock.now(), checksClaimed);
      const done = await this.#transact(
        lane,
        async (transaction): Promise<ClaimDone> => {
          const selected = await ready.select(transaction, query, clock.now());
          crashPoint('claim: chosen');
          const decided = decideClaims(selected.rows, decide, this.#parts);
          const { writes } = decided;
          if (writes.isEmpty) return { ...selected, ...decided };
          const flush = writes.flush();
          const turn = await lane.next();
          const written = await this.#write(transaction, writes, flush, lane, turn);
          return { ...selected, ...decided, leftWork: flush.leftWork, turn, written };
        },
        first,
      );
      const { claimed, failed, timerAt, leaseMs, writes, leftWork, written } = done;
      ready.served(done.rows);
      if (leftWork !== undefined) {
        crashPoint('commit: durable');
        feed.deliverFirst(done.firstCommits);
        // Only work that is left for other workers is urgent. Nobody waits for the start of a task.
        await this.#publish({ writes, leftWork, written }, leftWork ? 'now' : 'later');
      }
      return { claimed, failed, timerAt, leaseMs };
    } catch (error) {
      throw toStoreError(error, place);
    }
  }
}

/** True if a single command may have caused the error. Problems of the server affect all commands of a batch. */
function isOfOneCommand(error: unknown): boolean {
  return !(error instanceof StoreError) || hasCode(error, 'STORE_FAILED', 'STORE_CORRUPT', 'TASK_CORRUPT');
}

function subjectOf(order: Order): string | undefined {
  if (order.kind === 'update') return order.id;
  if (!order.bearing) return undefined;
  if ('id' in order.bearing) return order.bearing.id;
  const { owner, tool, key } = order.bearing;
  return JSON.stringify([owner, tool, key]);
}

/** The tasks to lock for these orders. `tasks` contains the ids of all orders, whatever their reach. */
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

/** Runs the rule and adds its writes, which the rules of later commands see. */
function decide(order: Order, writes: Writes, now: number): Decided {
  const verdict = verdictOn(order, writes.tasks);
  if (verdict instanceof Refusal) return { error: verdict };
  if ('error' in verdict) return verdict;
  writes.apply(verdict, now);
  return { change: verdict };
}

/** Runs the rule. If it throws, only its own command fails, except for `SubtasksMissing`: then all read again. */
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
  return subject ? decide(subject) : refusal('TASK_NOT_FOUND', id);
}
