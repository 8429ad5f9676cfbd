/** The audit log: what is kept with each commit, what is noted besides, and how it is read. */

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

const pageSize = 500;

/** The audit log for those who read it: `tasks.audit`. */
export class AuditLog {
  readonly #audit: () => Promise<Audit>;

  constructor(audit: () => Promise<Audit>) {
    this.#audit = audit;
  }

  /** A page of entries, the oldest first. With its `nextCursor` the same query goes on. */
  async read(
    query: AuditQuery & { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<AuditPage> {
    return (await this.#audit()).read({ limit: pageSize, ...query });
  }

  /** All of them as lines of JSON, each with the end of its line. */
  async *export(query: AuditQuery = {}): AsyncGenerator<string> {
    const audit = await this.#audit();
    for await (const { entries } of pagesOf((from) => audit.read({ ...query, limit: pageSize, ...from })))
      for (const entry of entries) yield `${JSON.stringify(entry)}\n`;
  }
}

// --- With each commit ---------------------------------------------------------------------------------------

/** A store that keeps an audit log of what is committed through it. */
export function audited(database: Database): Database {
  const { store } = database;
  const kept = (verdict: Verdict): Verdict => {
    if (verdict instanceof Refusal) return verdict;
    const audit = entriesOf(verdict);
    return audit.length > 0 ? { ...verdict, audit } : verdict;
  };
  return withCommands(database, {
    create: (bearing, decide) => store.create(bearing, (existing) => kept(decide(existing))),
    update: (reach, id, decide) => store.update(reach, id, (subject) => kept(decide(subject))),
    claim: (query, decide) => store.claim(query, (task, freed) => kept(decide(task, freed))),
  });
}

/** What an audit log says of a change. */
function entriesOf({ task, writes, removed, removal, by }: Change): AuditEntry[] {
  const entries = writes.flatMap((write) => entriesOfWrite(write, by));
  // What its request was answered with leaves nothing behind: that the result was read is said already.
  if (!removal || task.unpublished) return entries;
  const { at, why } = removal;
  const about = { at, ...aboutTask(task, by), details: { tasks: removed.length } };
  if (why === 'deleted') entries.push({ ...about, action: 'deleted' });
  else entries.push({ ...about, action: 'expired', reason: expiries[why] });
  return entries;
}

const expiries: Readonly<Record<Exclude<Removal['why'], 'deleted'>, string>> = {
  expired: 'Its retention was over.',
  crowdedOut: 'The store was full, and what had ended first had to go.',
  answered: 'Its outcome was the answer to its request.',
};

function entriesOfWrite({ task, at, events }: TaskWrite, by: Actor | undefined): AuditEntry[] {
  const entries: AuditEntry[] = [];
  const add = (entry: Pick<AuditEntry, 'action' | 'reason' | 'details'>, actor = by) =>
    entries.push({ at, ...aboutTask(task, actor), ...entry });
  const keys: string[] = [];
  for (const event of events) {
    if (event.type === 'created') add({ action: 'created', ...placed(task) });
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

function placed({ parentId, rootId }: Task): { readonly details?: JsonObject } {
  return parentId === undefined ? {} : { details: { parent: parentId, root: rootId } };
}

/** Handlers' own words are theirs: of reasons only those that the engine or whoever cancelled gave are kept. */
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

/** How long entries are gathered before they are written. */
const gatherMs = 200;
const windowMs = 60_000;
/** What is remembered of a minute, to recognise what repeats itself. */
const mostRemembered = 20_000;
/** Entries that wait to be written. More than that, and the store does not keep up. */
const mostWaiting = 20_000;
/** Refusals of one owner in a minute that are told one by one. */
const mostRefusals = 20;

export type Noted = Omit<AuditEntry, 'at' | 'times'>;

interface Counted {
  readonly noted: Noted;
  /** Not in the log yet. */
  times: number;
}

/**
 * Puts into the audit log what is not a commit: results that were read, callers that were refused. Nobody waits for it.
 * What is repeated within a minute is counted, and the count written at its end; an owner that is refused for always
 * new reasons, or asks for always new ids, gets a few entries and then one that counts the rest. So a flood can fill
 * neither the disk nor the memory.
 */
export class AuditRecorder {
  readonly #append: (entries: readonly AuditEntry[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #counted = new Map<string, Counted>();
  /** By action and owner: how many refusals were told one by one in this minute. */
  readonly #refusals = new Map<string, number>();
  #waiting: AuditEntry[] = [];
  #omitted = 0;
  #writing: Promise<void> = Promise.resolve();
  #cancelGathering: (() => void) | undefined;
  #cancelWindow: (() => void) | undefined;

  constructor(append: (entries: readonly AuditEntry[]) => Promise<void>, clock: Clock) {
    this.#append = append;
    this.#clock = clock;
  }

  /** True if the same was noted within this minute; it is counted then, and that is all. */
  countAgain(key: string): boolean {
    const counted = this.#counted.get(key);
    if (!counted) return false;
    counted.times++;
    return true;
  }

  /** What has the same key is the same. */
  note(key: string, noted: Noted): void {
    if (this.countAgain(key)) return;
    if (this.#counted.size >= mostRemembered) this.#closeWindow();
    this.#openWindow();
    this.#counted.set(key, { noted, times: 0 });
    this.#wait({ ...noted, at: this.#clock.now() });
  }

  /** Somebody was denied a task, or asked for too much. */
  refuse(refused: Noted & { readonly action: 'denied' | 'limited' }): void {
    const { action, owner, taskId, reason } = refused;
    const key = JSON.stringify([action, owner, taskId, reason]);
    if (this.countAgain(key)) return;
    const told = this.#refusals.get(`${action} ${owner}`) ?? 0;
    if (told === 0 && this.#refusals.size >= mostRemembered) {
      this.#omitted++;
      this.#openWindow();
      this.#gather();
    } else if (told < mostRefusals) {
      this.#refusals.set(`${action} ${owner}`, told + 1);
      this.note(key, refused);
    } else {
      const why = `There were more than ${mostRefusals} in a minute; of the others only the number is kept.`;
      const rest: Noted = { action, owner, taskId: null, by: 'caller', reason: why };
      this.note(JSON.stringify([action, owner, null]), rest);
    }
  }

  /** Writes what there is, counts of a minute that is not over included. */
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
      if (times > 0) this.#wait({ ...noted, at: this.#clock.now(), ...(times > 1 && { times }) });
    this.#counted.clear();
    this.#refusals.clear();
  }

  #wait(entry: AuditEntry): void {
    const owner = entry.owner === null ? null : shortened(entry.owner);
    if (this.#waiting.length < mostWaiting) this.#waiting.push({ ...entry, owner });
    else this.#omitted += entry.times ?? 1;
    this.#gather();
  }

  #gather(): void {
    this.#cancelGathering ??= this.#clock.schedule(this.#clock.now() + gatherMs, () => this.#write());
  }

  #write(): void {
    this.#cancelGathering?.();
    this.#cancelGathering = undefined;
    this.#writing = this.#writing.then(() => this.#writeWaiting());
  }

  async #writeWaiting(): Promise<void> {
    const entries = this.#waiting;
    const omitted = this.#omitted;
    if (entries.length + omitted === 0) return;
    this.#waiting = [];
    this.#omitted = 0;
    const times = omitted > 1 ? { times: omitted } : {};
    const gap: AuditEntry = {
      at: this.#clock.now(),
      action: 'omitted',
      owner: null,
      taskId: null,
      by: 'engine',
      reason: 'More happened at a time than could be written.',
      ...times,
    };
    try {
      await this.#append(omitted > 0 ? [...entries, gap] : entries);
    } catch {
      // A store that cannot be written now will say later how much is missing.
      this.#omitted += entries.reduce((sum, entry) => sum + (entry.times ?? 1), omitted);
    }
  }
}
