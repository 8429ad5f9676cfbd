/** A store that keeps an audit log of what is committed through it. Without one nothing stands in between. */
import { Refusal } from '../model/errors.ts';
import type { JsonObject } from '../model/json.ts';
import { outcomeWord } from '../model/outcome.ts';
import type { Task } from '../model/task.ts';
import type { Actor, AuditEntry } from './audit.ts';
import type { Change, Removal, TaskWrite, Verdict } from './change.ts';
import { deadlinePassed } from './endings.ts';
import type { Database } from './queue.ts';
import { withCommands } from './with-commands.ts';

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
export function entriesOf({ task, writes, removed, removal, by }: Change): AuditEntry[] {
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
