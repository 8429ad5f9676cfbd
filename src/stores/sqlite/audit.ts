import type { Audit, AuditEntry, AuditPage } from '../../engine/audit.ts';
import { numberAfter } from '../values/cursor.ts';
import { entryOf, isWanted, type SaidRow, saidOf } from '../values/said.ts';
import type { Cells, Stored } from './cells.ts';
import { type Connection, wording } from './driver.ts';
import type { GroupCommit } from './group-commit.ts';

/**
 * `said` is all that SQL need not find or compare. The triggers are there for mistakes, in this program and by hand: a
 * value may be encrypted, decrypted or put under another key, and nothing else may change; and entries go only if
 * they are from before the moment up to which the log was pruned.
 */
export const auditTables = `
  create table audit (
    seq integer primary key,
    at integer not null,
    action text not null,
    owner text,
    task text,
    said text not null
  );
  create index audit_by_at on audit (at);
  create index audit_by_task on audit (task) where task is not null;
  create index audit_by_owner on audit (owner) where owner is not null;
  create table audit_pruned (before integer not null);
  insert into audit_pruned (before) values (0);
  create trigger audit_is_append_only before update on audit
  when new.seq is not old.seq or new.at is not old.at or new.action is not old.action
    or new.owner is not old.owner or new.task is not old.task
    or (typeof(new.said) = 'text' and typeof(old.said) = 'text' and new.said is not old.said)
  begin
    select raise(abort, 'An entry of the audit log never changes.');
  end;
  create trigger audit_is_kept before delete on audit
  when old.at >= (select before from audit_pruned)
  begin
    select raise(abort, 'An entry of the audit log is kept until its retention is over.');
  end;
`;

/** How many rows one look may pass, so that a query that finds little does not hold up the process. */
const mostPassed = 10_000;

interface Row extends SaidRow<Stored> {
  readonly seq: number;
}

export interface SqliteAudit extends Audit {
  /** Inside a transaction. */
  write(entries: readonly AuditEntry[]): void;
}

export function sqliteAudit(db: Connection, commands: GroupCommit, cells: Cells, file: string): SqliteAudit {
  const insert = db.prepare('insert into audit (at, action, owner, task, said) values (?, ?, ?, ?, ?)');
  const write = (entries: readonly AuditEntry[]) => {
    for (const entry of entries) {
      const { at, action, owner, task, said } = saidOf(entry, cells);
      insert.run(at, action, owner, task, said);
    }
  };
  const read = ({ taskId, owner, limit, cursor = '0', ...rest }: Parameters<Audit['read']>[0]): AuditPage => {
    const conditions = ['seq > ?'];
    const values: (string | number)[] = [numberAfter(cursor)];
    for (const [column, value] of [['task', taskId] as const, ['owner', owner] as const]) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const rows = db
      .prepare(`select * from audit where ${conditions.join(' and ')} order by seq limit ?`)
      .iterate(...values, mostPassed + 1);
    const entries: AuditEntry[] = [];
    let passed = 0;
    let last = cursor;
    for (const found of rows) {
      if (entries.length === limit || passed === mostPassed) return { entries, nextCursor: last };
      const row = found as unknown as Row;
      passed++;
      last = String(row.seq);
      if (isWanted(row, rest)) entries.push(entryOf(row, cells));
    }
    return { entries };
  };
  return {
    write,
    append: (entries) => commands.submit(() => write(entries)),
    read: (query) => wording(file, () => read(query)),
    prune: (before, limit) =>
      commands.submit(() => {
        if (!db.prepare('select 1 from audit where at < ? limit 1').get(before)) return 0;
        db.prepare('update audit_pruned set before = max(before, ?)').run(before);
        const { changes } = db
          .prepare('delete from audit where seq in (select seq from audit where at < ? order by at limit ?)')
          .run(before, limit);
        return Number(changes);
      }),
  };
}
