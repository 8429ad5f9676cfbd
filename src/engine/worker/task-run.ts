/**
 * One claimed task in a worker: its pass, and every commit that the pass needs.
 * Over 400 lines because all of these commits share one claim and one view of the task.
 */

import { HoldfastError, hasCode, ignoringRefusals, refusal } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type { Failed, Outcome } from '../../model/outcome.ts';
import type { Task, TaskId } from '../../model/task.ts';
import { isInstance, messageOf } from '../../model/thrown.ts';
import { compose, type Verdict } from '../../ports/change.ts';
import { type ObservedPass, quietly } from '../../ports/observer.ts';
import type { Claim, Claimed } from '../../ports/queue.ts';
import type { Store } from '../../ports/store.ts';
import { StoreError, TaskCorrupt } from '../../ports/store-errors.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { taskContext } from '../handlers/context.ts';
import { parse } from '../handlers/schema.ts';
import type { DurableTool } from '../handlers/tool.ts';
import { failureOf } from '../handlers/tool-result.ts';
import { advance, Reporter } from '../replay/batch.ts';
import type { Call, RefreshedState } from '../replay/call.ts';
import { type Batch, readJournal } from '../replay/journal.ts';
import { toJsonValue } from '../replay/json-value.ts';
import { subtasksPerCommit } from '../replay/open-calls.ts';
import { Pass, type PassEnd, type PassHost } from '../replay/pass.ts';
import { InvalidInput } from '../replay/recorded-error.ts';
import * as rules from '../rules/transitions.ts';
import type { WorkerSettings } from './settings.ts';

export interface RunParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly tool: DurableTool;
  readonly claimed: Claimed;
  /** When the claim was requested, on the monotonic clock. */
  readonly claimedAt: number;
  readonly settings: WorkerSettings;
  /** How long a pass that only waits stays in memory; called when the wait begins. */
  readonly lingerMs: () => number;
  /** Renews the claims of the worker now, ahead of the schedule. */
  readonly renew: () => void;
}

const blockedBackoff = { minMs: 5_000, maxMs: 600_000 };

export class TaskRun {
  readonly claim: Claim;
  readonly tool: DurableTool;
  readonly #parts: RunParts;
  readonly #abort = new AbortController();
  readonly #reporter = new Reporter(() => void this.#flush());
  /** Undefined if the task was created and claimed in one commit. */
  readonly #claimedVersion: number | undefined;
  /** Attempts of steps that have not settled. */
  readonly #attempts = new Set<Promise<unknown>>();
  #task: Task;
  /** Changes by others are known up to this version. */
  #seenVersion: number;
  /** When the last granted lease was requested, on the monotonic clock of this worker. */
  #claimedAt: number;
  /** The input that the handler got. */
  #handlerInput: unknown;
  #current: Pass | undefined;
  #stopped = false;
  /** The handler has ended and no longer uses its signal. */
  #isConcluding = false;
  #isLost = false;
  #isOver = false;

  constructor(parts: RunParts) {
    const { tool, claimed, claimedAt } = parts;
    this.#parts = parts;
    this.#task = claimed.task;
    this.#seenVersion = claimed.task.version;
    this.#claimedVersion = claimed.task.version > 1 ? claimed.task.version : undefined;
    this.#claimedAt = claimedAt;
    this.claim = claimed.claim;
    this.tool = tool;
  }

  get taskId(): TaskId {
    return this.claim.taskId;
  }

  /** Resolves when the worker has nothing more to do with the task; rejects if the store could not write its end. */
  async advance(): Promise<void> {
    const observed = this.#parts.settings.observer.passBegan(this.#task);
    let how: PassEnd['type'] | 'superseded' = 'lost';
    try {
      // An unreadable journal is a problem of the store, so it does not end the task.
      const end = await this.#pass(observed).catch((error) => ({ type: 'lost', error }) as const);
      how = end.type;
      const isKept = await this.#conclude(end);
      this.#isOver = true;
      if (!isKept || (await this.#wasTaken())) how = 'superseded';
    } finally {
      quietly(() => observed.ended(how, this.#parts.clock.now()));
      this.#reporter.take();
    }
  }

  /** The claim was renewed by a request sent at that time on the monotonic clock. */
  renewed(at: number): void {
    const wasCertain = this.isClaimCertain;
    this.#claimedAt = Math.max(this.#claimedAt, at);
    if (!wasCertain) this.poke();
  }

  /**
   * A process that was suspended continues without noticing. So a step begins only in the first two thirds of the lease;
   * a healthy worker renews it after one third.
   */
  get isClaimCertain(): boolean {
    return this.#parts.clock.monotonic() - this.#claimedAt < (this.#parts.settings.leaseMs * 2) / 3;
  }

  /** Resolves when all running steps have settled; undefined if none runs. */
  get settled(): Promise<unknown> | undefined {
    return this.#attempts.size > 0 ? Promise.all(this.#attempts) : undefined;
  }

  /** True after it committed its end or lost its claim. If the store could not write the end, the task is still claimed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get waitsForSubtasks(): boolean {
    return this.#current?.waitsForSubtasks === true;
  }

  /** Records that the task runs alone from now on. */
  async isolate(): Promise<void> {
    await this.#update((task, at) => rules.isolate(task, this.claim, at));
  }

  /** Releases the task before its pass has begun. It can be claimed at once or from `until` on. */
  async release(until?: number): Promise<void> {
    await this.#update((task, at) => rules.release(task, this.claim, at, until));
  }

  /** The claim could not be renewed: another worker may have the task. */
  lose(): void {
    this.#isLost = true;
    this.stop();
  }

  async #wasTaken(): Promise<boolean> {
    if (!this.#isLost) return false;
    const task = await this.#parts.store.get(this.taskId).catch(() => undefined);
    return task !== undefined && task.epoch > this.claim.epoch;
  }

  /** Something happened to the task outside this run. */
  poke(): void {
    this.#current?.poke();
  }

  /** The task was ended by another process, so the rest of this pass is discarded. */
  taskEnded(): void {
    this.#current?.stop();
    if (!this.#isConcluding) this.#abort.abort();
  }

  /** Lets running steps finish but starts nothing new. */
  yield(): void {
    this.#stopped = true;
    this.#current?.yield();
  }

  /** Ends the pass at once. */
  stop(): void {
    this.#stopped = true;
    this.#current?.stop();
  }

  /** The handler of this pass left a rejection unhandled. False if the pass does not belong to this run. */
  failUnhandled(pass: Pass, error: unknown): boolean {
    if (this.#current !== pass) return false;
    pass.failUnhandled(error);
    return true;
  }

  async #pass(observed: ObservedPass): Promise<PassEnd> {
    const journal = readJournal(
      this.#parts.claimed.journal ?? (await this.#parts.store.journal(this.taskId)),
    );
    if (this.#stopped) return { type: 'stopped' };
    const pass = new Pass(journal, this.#task, this.#host(observed));
    this.#current = pass;
    const input = await this.#input(journal.arguments);
    if ('difference' in input) return { type: 'changed', message: input.difference };
    this.#handlerInput = input.value;
    const context = taskContext({
      task: this.#task,
      tool: this.tool,
      pass,
      signal: this.#abort.signal,
      report: (report) => this.#reporter.report(report),
      cancel: (id, reason) => this.#cancelChild(id, reason),
      limits: this.#parts.settings.limits,
    });
    pass.run(() => observed.handler(() => this.tool.handler(input.value as never, context)));
    return pass.ended;
  }

  /** Arguments were checked when the task was created. If they no longer fit, the tool has changed since. */
  async #input(value: Json): Promise<{ readonly value: unknown } | { readonly difference: string }> {
    const { inputSchema, name, secrets } = this.tool;
    if (!inputSchema) return { value };
    try {
      return { value: await parse(inputSchema, value, `the input of ${name}`, secrets) };
    } catch (error) {
      // This is logged, so it contains only the paths. A message of the schema may quote secret values.
      const places = isInstance(error, InvalidInput) ? error.places.filter((place) => place !== '') : [];
      const where = places.length > 0 ? ` at ${places.join(', ')}` : '';
      return { difference: `the input of ${name} does not fit its schema${where}` };
    }
  }

  #host(observed: ObservedPass): PassHost {
    const { lingerMs, renew, settings } = this.#parts;
    return {
      taskId: this.taskId,
      observed,
      lingerMs,
      limits: settings.limits,
      maxJournalEntries: this.tool.maxJournalEntries,
      now: () => this.#parts.clock.now(),
      isClaimCertain: () => {
        const { isClaimCertain: isHeld } = this;
        if (!isHeld) renew();
        return isHeld;
      },
      attemptStarted: (attempt) => {
        this.#attempts.add(attempt);
        void attempt.finally(() => this.#attempts.delete(attempt));
      },
      interrupts: ({ entries }) => settings.interruptAfterEveryEntry && entries.length > 0,
      schedule: (at, callback) => this.#parts.clock.schedule(at, callback),
      commit: (batch, calls) => this.#commit(batch, calls),
      refresh: (unread, awaited) => this.#refresh(unread, awaited),
      park: (until, batch, calls) => this.#park(until, batch, calls),
    };
  }

  async #commit(batch: Batch, calls: readonly Call[]): Promise<Task> {
    const report = this.#reporter.take();
    const keys = new Map<Call, string>();
    await this.#update((task, at) => advance(task, this.claim, { batch, calls, report }, at, keys));
    for (const [call, key] of keys) call.key = key;
    return this.#task;
  }

  /** Reads from the commits of this task which subtasks have ended. */
  async #refresh(unread: readonly TaskId[], awaited: ReadonlyMap<TaskId, unknown>): Promise<RefreshedState> {
    const [task, commits] = await Promise.all([
      this.#parts.store.get(this.taskId),
      awaited.size > 0 ? this.#parts.store.commitsOf(this.taskId, this.#seenVersion, subtasksPerCommit) : [],
    ]);
    if (task) this.#task = task;
    // Except for ended subtasks, everything is in the task itself.
    this.#seenVersion =
      awaited.size > 0 ? (commits.at(-1)?.version ?? this.#seenVersion) : this.#task.version;
    const ended = commits.flatMap(({ events }) =>
      events.flatMap((event) =>
        event.type === 'childDone' && awaited.has(event.childId) ? event.childId : [],
      ),
    );
    const children = await Promise.all(
      [...new Set([...unread, ...ended])].map((id) => this.#parts.store.get(id)),
    );
    const done = children.flatMap((child) =>
      child?.phase === 'done' ? [[child.id, child.outcome] as const] : [],
    );
    return { task: this.#task, children: new Map(done), isComplete: commits.length < subtasksPerCommit };
  }

  async #park(until: number | null, batch: Batch | undefined, calls: readonly Call[]): Promise<boolean> {
    const seenVersion = this.#task.version;
    // Another process changed the task between two commits of this pass.
    if (this.#seenVersion !== seenVersion) return false;
    const report = this.#reporter.take();
    try {
      await this.#update((task, at) => {
        if (task.version !== seenVersion) return refusal('TASK_MOVED', task.id, seenVersion, task.version);
        const before = batch
          ? advance(task, this.claim, { batch, calls, report }, at, new Map())
          : rules.report(task, this.claim, report, at);
        const claimedVersion = this.#claimedVersion;
        return compose(before, (now) =>
          rules.park(now, this.claim, { seenVersion: now.version, until, claimedVersion }, at),
        );
      });
      return true;
    } catch (error) {
      if (!hasCode(error, 'TASK_MOVED')) throw error;
      this.#reporter.restore(report);
      return false;
    }
  }

  async #flush(): Promise<void> {
    const report = this.#reporter.take();
    // If the claim is lost, the next commit of the pass fails, too.
    await this.#update((task, at) => rules.report(task, this.claim, report, at)).catch(() => {});
  }

  async #update(decide: (task: Task, at: number) => Verdict): Promise<void> {
    let before = 0;
    const { task } = await this.#parts.store.update('task', this.taskId, (found) => {
      before = found.version;
      return decide(found, this.#parts.clock.now());
    });
    this.#task = task;
    if (before === this.#seenVersion) this.#seenVersion = task.version;
  }

  /** False if another worker has taken the task. Rejects if the store could not write the end. */
  async #conclude(end: PassEnd): Promise<boolean> {
    this.#isConcluding = end.type === 'returned' || end.type === 'threw';
    try {
      await this.#commitEnd(end);
    } catch (error) {
      if (hasCode(error, 'CLAIM_LOST')) return false;
      if (isInstance(error, StoreError)) {
        this.#parts.settings.onUnrecorded(this.#task.rootId, error);
        throw error;
      }
      if (isInstance(error, HoldfastError)) return true;
      // The commit would fail again after the same steps: the cause is the task itself or a bug.
      const message = `The result of this task could not be stored: ${messageOf(error)}`;
      await this.#finish({ kind: 'failure', message }).catch(() => {}); // If this fails, too, the lease expires.
    }
    return true;
  }

  async #commitEnd(end: PassEnd): Promise<void> {
    switch (end.type) {
      case 'returned':
        return this.#finish(await this.#outcome(end.value));
      case 'threw':
        return this.#finish(this.#failure(end.error));
      case 'changed':
        return this.#block(
          `Waiting for a worker with the handler that began this task: in ${this.tool.name} version ${this.tool.version}, ${end.message}.`,
        );
      case 'stopped':
        return this.#abort.signal.aborted ? undefined : this.release();
      case 'parked':
        return;
      case 'lost':
        if (end.error instanceof TaskCorrupt && end.error.taskId === this.taskId)
          return this.#block(
            'The journal of this task is corrupt. The task continues after the journal is restored.',
          );
        throw end.error;
    }
  }

  async #outcome(returned: unknown): Promise<Outcome> {
    try {
      return await this.tool.outcome(returned, {
        input: this.#handlerInput,
        maxSize: this.#parts.settings.limits.maxValueSize,
      });
    } catch (error) {
      return this.#failure(error);
    }
  }

  /** Never throws, even if the tool fails to convert the error. */
  #failure(error: unknown): Failed {
    try {
      return toJsonValue(
        this.tool.failure(error),
        'The error',
        this.#parts.settings.limits.maxValueSize,
      ) as unknown as Failed;
    } catch (problem) {
      return failureOf(problem);
    }
  }

  async #finish(outcome: Outcome): Promise<void> {
    const report = this.#reporter.take();
    const at = this.#parts.clock.now();
    if (outcome.kind === 'result' && !outcome.isError) {
      await this.#parts.store.update('lineage', this.taskId, ({ task, ancestors }) =>
        compose(rules.report(task, this.claim, report, at), (now) =>
          rules.complete({ task: now, ancestors }, this.claim, outcome, at),
        ),
      );
    } else {
      await this.#parts.store.update('family', this.taskId, ({ task, ...family }) =>
        compose(rules.report(task, this.claim, report, at), (now) =>
          rules.fail({ task: now, ...family }, this.claim, outcome, at),
        ),
      );
    }
  }

  async #block(message: string): Promise<void> {
    await this.#update((task, at) => {
      const rest = backoffMs(blockedBackoff, task.blocked?.times ?? 0);
      return rules.block(task, this.claim, { message, until: at + rest }, at);
    });
  }

  async #cancelChild(id: TaskId, reason?: string): Promise<void> {
    const cancelled = this.#parts.store.update('family', id, (family) =>
      rules.cancel(family, this.#parts.clock.now(), reason),
    );
    await cancelled.catch(ignoringRefusals);
  }
}
