/**
 * Ends what is past its deadline, removes what is past its retention, of the audit log too, explains what nobody
 * takes; a few at a time.
 */
import type { Clock } from '../model/clock.ts';
import { Refusal } from '../model/errors.ts';
import type { Task, TaskId } from '../model/task.ts';
import type { Audit } from './audit.ts';
import type { Verdict } from './change.ts';
import type { Database, Queue, ToolVersion } from './queue.ts';
import { requestLeaseMs } from './requests.ts';
import type { Store } from './store.ts';
import { StoreError } from './store-errors.ts';
import { explain, keepForRequest, passDeadline, purge } from './transitions.ts';

const everyMs = 1_000;
/** A task that has been ready for so long without being claimed is explained to whoever looks. */
const orphanedMs = 60_000;
/** Small, so that traffic never waits for long behind it. */
const atOnce = 20;
const pruneEveryMs = 60_000;
const prunedAtOnce = 500;

export class Housekeeping {
  readonly #store: Store;
  readonly #audit: Audit;
  readonly #auditRetentionMs: number | undefined;
  readonly #queue: Queue;
  readonly #clock: Clock;
  readonly #tools: readonly ToolVersion[];
  #orphansAt: number;
  #pruneAt: number;
  #cancel: () => void = () => {};
  #round: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(
    { store, queue, audit }: Database,
    clock: Clock,
    tools: readonly ToolVersion[],
    auditRetentionMs?: number,
  ) {
    this.#store = store;
    this.#audit = audit;
    this.#auditRetentionMs = auditRetentionMs;
    this.#pruneAt = clock.now();
    this.#queue = queue;
    this.#clock = clock;
    this.#tools = tools;
    this.#orphansAt = clock.now() + orphanedMs;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#round;
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.schedule(this.#clock.now() + everyMs, () => {
      this.#arm();
      this.#again = true;
      this.#round ??= this.#rounds().finally(() => {
        this.#round = undefined;
      });
    });
  }

  async #rounds(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      await this.#tidy();
    }
  }

  async #tidy(): Promise<void> {
    try {
      await this.#all('deadline', async (id, now) => {
        const server = await this.#livingServer(id);
        await this.#store.update(
          'family',
          id,
          (family) => stillServed(family.task, server, now) ?? passDeadline(family, now),
        );
      });
      await this.#all('purge', (id, now) => this.#store.update('family', id, (family) => purge(family, now)));
      await this.#explainOrphans();
      await this.#pruneAudit();
    } catch (error) {
      // A store that cannot be written now is tried again in the next round.
      if (!(error instanceof StoreError)) throw error;
    }
  }

  /** The process that serves the request of an unpublished task, if it lives. */
  async #livingServer(id: TaskId): Promise<string | undefined> {
    const servedBy = (await this.#store.get(id))?.unpublished?.servedBy ?? undefined;
    return servedBy !== undefined && (await this.#queue.isAlive(servedBy)) ? servedBy : undefined;
  }

  async #explainOrphans(): Promise<void> {
    const now = this.#clock.now();
    if (now < this.#orphansAt) return;
    this.#orphansAt = now + orphanedMs;
    for (const id of await this.#queue.orphans(this.#tools, now - orphanedMs, atOnce))
      await this.#store.update('task', id, (task) => explain(task, orphaned(task), now)).catch(unlessRefused);
  }

  async #pruneAudit(): Promise<void> {
    const now = this.#clock.now();
    if (this.#auditRetentionMs === undefined || now < this.#pruneAt) return;
    this.#pruneAt = now + pruneEveryMs;
    const before = now - this.#auditRetentionMs;
    while (!this.#stopped && (await this.#audit.prune(before, prunedAtOnce)) === prunedAtOnce);
  }

  async #all(what: 'deadline' | 'purge', act: (id: TaskId, now: number) => Promise<unknown>): Promise<void> {
    for (;;) {
      const now = this.#clock.now();
      const due = await this.#store.due(what, now, atOnce);
      // Another process may be faster; what it has done needs no doing.
      await Promise.all(due.map((id) => act(id, now).catch(unlessRefused)));
      if (due.length < atOnce || this.#stopped) return;
    }
  }
}

/** Its process lives, and was only kept from saying so: the machine slept, or the event loop was busy. */
function stillServed(task: Task, server: string | undefined, now: number): Verdict | undefined {
  const { servedBy, deadlineAt } = task.unpublished ?? {};
  if (server === undefined || servedBy !== server) return undefined;
  if (typeof deadlineAt === 'number' && deadlineAt <= now) return undefined;
  return keepForRequest(task, { servedBy: server, until: now + requestLeaseMs }, now);
}

function orphaned({ tool, toolVersion }: Task): string {
  return `Waiting for a worker that knows ${tool} version ${toolVersion}: none has taken this task so far.`;
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}
