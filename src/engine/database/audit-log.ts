/** The audit log: how it is read, the entries that commits write, and the entries about reads and refusals. */

import { Refusal } from '../../model/errors.ts';
import type { JsonObject } from '../../model/json.ts';
import { shortened } from '../../model/name-length.ts';
import { outcomeWord } from '../../model/outcome.ts';
import { pagesOf } from '../../model/paging.ts';
import type { Task } from '../../model/task.ts';
import type { Actor, Audit, AuditEntry, AuditPage, AuditQuery } from '../../ports/audit.ts';
import type { Change, Removal, TaskWrite, Verdict } from '../../ports/change.ts';
import type { Database } from '../../ports/queue.ts';
import type { Clock } from '../../runtime/clock.ts';
import { deadlinePassed } from '../rules/endings.ts';
import { withCommands } from './decorator.ts';

// --- For readers --------------------------------------------------------------------------------------------

/** Entries on a page, unless the reader sets `limit`. */
const pageSize = 500;

/** Reads the audit log: `tasks.audit`. */
export class AuditLog {
  readonly #audit: () => Promise<Audit>;

  constructor(audit: () => Promise<Audit>) {
    this.#audit = audit;
  }

  /** Returns a page of entries, oldest first. Pass its `nextCursor` with the same query to get the next page. */
  async read(
    query: AuditQuery & { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<AuditPage> {
    return (await this.#audit()).read({ limit: pageSize, ...query });
  }

  /** Returns all entries as lines of JSON, each with its newline. */
  async *export(query: AuditQuery = {}): AsyncGenerator<string> {
    const audit = await this.#audit();
    for await (const { entries } of pagesOf((from) => audit.read({ ...query, limit: pageSize, ...from })))
      for (const entry of entries) yield `${JSON.stringify(entry)}\n`;
  }
}

// --- With each commit ---------------------------------------------------------------------------------------

/** Wraps a database so that every commit also writes its audit entries. */
export function audited(database: Database): Database {
  const { store } = database;
  const withEntries = (verdict: Verdict): Verdict => {
    if (verdict instanceof Refusal) return verdict;
    const audit = entriesOf(verdict);
    return audit.length > 0 ? { ...verdict, audit } : verdict;
  };
  return withCommands(database, {
    create: (bearing, decide) => store.create(bearing, (existing) => withEntries(decide(existing))),
    update: (reach, id, decide) => store.update(reach, id, (subject) => withEntries(decide(subject))),
    claim: (query, decide) => store.claim(query, (task, freed) => withEntries(decide(task, freed))),
  });
}

/** The audit entries of a change. */
function entriesOf({ task, writes, removed, removal, by }: Change): AuditEntry[] {
  const entries = writes.flatMap((write) => entriesOfWrite(write, by));
  // The removal of a task whose id was never published is not recorded: to its caller there was only a plain call.
  if (!removal || task.unpublished) return entries;
  const { at, why } = removal;
  const about = { at, ...aboutTask(task, by), details: { tasks: removed.length } };
  if (why === 'deleted') entries.push({ ...about, action: 'deleted' });
  else entries.push({ ...about, action: 'expired', reason: expiries[why] });
  return entries;
}

/** The reasons in `expired` entries. `answered` does not occur, because such tasks are unpublished. */
const expiries: Readonly<Record<Exclude<Removal['why'], 'deleted'>, string>> = {
  expired: 'The retention ended.',
  crowdedOut: 'The store was full, so the trees that finished first were removed.',
  answered: 'The outcome was sent as the answer to the request.',
};

function entriesOfWrite({ task, at, events }: TaskWrite, by: Actor | undefined): AuditEntry[] {
  const entries: AuditEntry[] = [];
  const add = (entry: Pick<AuditEntry, 'action' | 'reason' | 'details'>, actor = by) =>
    entries.push({ at, ...aboutTask(task, actor), ...entry });
  const keys: string[] = [];
  for (const event of events) {
    if (event.type === 'created') add({ action: 'created', ...treeDetails(task) });
    else if (event.type === 'answered') keys.push(event.key);
    else if (event.type === 'completed') add({ action: 'operator', details: { completed: event.name } });
    else if (event.type === 'finished') add(ending(task));
  }
  if (keys.length > 0) add({ action: 'answered', details: { keys } });
  return entries;
}

function aboutTask(
  { id, owner, tool, origin }: Task,
  by: Actor | undefined,
): Omit<AuditEntry, 'at' | 'action'> {
  const dialect = by?.dialect ?? (origin.dialect === 'direct' ? undefined : origin.dialect);
  return {
    owner,
    taskId: id,
    by: by?.by ?? 'engine',
    tool,
    ...(dialect !== undefined && { dialect }),
    ...(by?.session !== undefined && { session: by.session }),
  };
}

function treeDetails({ parentId, rootId }: Task): { readonly details?: JsonObject } {
  return parentId === undefined ? {} : { details: { parent: parentId, root: rootId } };
}

/** The entry for a finished task. It contains the engine's or a canceller's reason, but no message of a handler. */
function ending(task: Task): Pick<AuditEntry, 'action' | 'reason' | 'details'> {
  const outcome = task.phase === 'done' ? task.outcome : undefined;
  if (outcome?.kind === 'cancelled')
    return { action: 'cancelled', ...(outcome.reason !== undefined && { reason: outcome.reason }) };
  const isLate = outcome?.kind === 'failure' && outcome.message === deadlinePassed;
  return {
    action: 'ended',
    ...(isLate && { reason: deadlinePassed }),
    ...(outcome && { details: { outcome: outcomeWord(outcome) } }),
  };
}

/** How long entries are collected before they are written. */
const collectMs = 200;
/** How long repetitions are counted before the count is written. */
const windowMs = 60_000;
/**
 * The maximum number of distinct entries that are remembered to detect repetitions. More of them end the minute early.
 */
const maxRemembered = 20_000;
/** The maximum number of entries that wait to be written. Beyond it the store is too slow, and entries are dropped. */
const maxWaiting = 20_000;
/** How many refusals per minute get an entry of their own, for each owner and action. */
const maxRefusals = 20;

/** An entry before the recorder adds its time and count. */
export type Noted = Omit<AuditEntry, 'at' | 'times'>;

interface Counted {
  readonly noted: Noted;
  /** Repetitions that are not in the log yet. */
  times: number;
}

/**
 * Writes audit entries for events that are not commits: results that were read, callers that were refused. No request
 * waits for these writes. Repetitions within a minute are counted, and the count is written at the end of the minute.
 * If an owner is refused for many different reasons or ids, it gets a few entries and then one that counts the rest. So
 * a flood of requests cannot fill the disk or the memory.
 */
export class AuditRecorder {
  readonly #append: (entries: readonly AuditEntry[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #counted = new Map<string, Counted>();
  /** By action and owner: how many refusals got an entry of their own in this minute. */
  readonly #refusals = new Map<string, number>();
  #pending: AuditEntry[] = [];
  /** How many entries were dropped since the last successful write. */
  #omitted = 0;
  #writing: Promise<void> = Promise.resolve();
  #cancelWrite: (() => void) | undefined;
  #cancelWindow: (() => void) | undefined;

  constructor(append: (entries: readonly AuditEntry[]) => Promise<void>, clock: Clock) {
    this.#append = append;
    this.#clock = clock;
  }

  /** Counts a repetition. Returns false if there is no entry with this key in the current minute. */
  countAgain(key: string): boolean {
    const counted = this.#counted.get(key);
    if (!counted) return false;
    counted.times++;
    return true;
  }

  /** Adds an entry, or counts a repetition if there is one with the same key. */
  note(key: string, noted: Noted): void {
    if (this.countAgain(key)) return;
    if (this.#counted.size >= maxRemembered) this.#closeWindow();
    this.#openWindow();
    this.#counted.set(key, { noted, times: 0 });
    this.#queue({ ...noted, at: this.#clock.now() });
  }

  /** Adds an entry about a caller that was denied access to a task or exceeded a limit. */
  refuse(refused: Noted & { readonly action: 'denied' | 'limited' }): void {
    const { action, owner, taskId, reason } = refused;
    const key = JSON.stringify([action, owner, taskId, reason]);
    if (this.countAgain(key)) return;
    const recorded = this.#refusals.get(`${action} ${owner}`) ?? 0;
    if (recorded === 0 && this.#refusals.size >= maxRemembered) {
      // Too many different owners in this minute.
      this.#omitted++;
      this.#openWindow();
      this.#scheduleWrite();
    } else if (recorded < maxRefusals) {
      this.#refusals.set(`${action} ${owner}`, recorded + 1);
      this.note(key, refused);
    } else {
      const why = `More than ${maxRefusals} refusals in a minute; the others are only counted.`;
      const rest: Noted = { action, owner, taskId: null, by: 'caller', reason: why };
      this.note(JSON.stringify([action, owner, null]), rest);
    }
  }

  /** Writes all pending entries, including the counts of the current minute. */
  async flush(): Promise<void> {
    this.#closeWindow();
    this.#write();
    await this.#writing;
  }

  #openWindow(): void {
    this.#cancelWindow ??= this.#clock.schedule(this.#clock.now() + windowMs, () => this.#closeWindow());
  }

  #closeWindow(): void {
    this.#cancelWindow?.();
    this.#cancelWindow = undefined;
    for (const { noted, times } of this.#counted.values())
      if (times > 0) this.#queue({ ...noted, at: this.#clock.now(), ...(times > 1 && { times }) });
    this.#counted.clear();
    this.#refusals.clear();
  }

  #queue(entry: AuditEntry): void {
    const owner = entry.owner === null ? null : shortened(entry.owner);
    if (this.#pending.length < maxWaiting) this.#pending.push({ ...entry, owner });
    else this.#omitted += entry.times ?? 1;
    this.#scheduleWrite();
  }

  #scheduleWrite(): void {
    this.#cancelWrite ??= this.#clock.schedule(this.#clock.now() + collectMs, () => this.#write());
  }

  #write(): void {
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    this.#writing = this.#writing.then(() => this.#writePending());
  }

  async #writePending(): Promise<void> {
    const entries = this.#pending;
    const omitted = this.#omitted;
    if (entries.length + omitted === 0) return;
    this.#pending = [];
    this.#omitted = 0;
    const times = omitted > 1 ? { times: omitted } : {};
    const gap: AuditEntry = {
      at: this.#clock.now(),
      action: 'omitted',
      owner: null,
      taskId: null,
      by: 'engine',
      reason: 'There were more entries than the store could write.',
      ...times,
    };
    try {
      await this.#append(omitted > 0 ? [...entries, gap] : entries);
    } catch {
      // The store cannot be written now. The next write reports how many entries are missing.
      this.#omitted += entries.reduce((sum, entry) => sum + (entry.times ?? 1), omitted);
    }
  }
}
