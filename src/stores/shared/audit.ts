/** Entries of the audit log as rows: what SQL must find or compare has columns of its own, the rest is `said`. */
import type { Audit, AuditAction, AuditEntry } from '../../ports/audit.ts';
import type { Cells } from './encryption/cells.ts';
import { numberIn } from './query/cursor.ts';
import { conditions } from './query/sql.ts';
import type { Tables, Value } from './tables.ts';

const saidColumn = 'audit.said';
/** How many rows a page may pass, so that a query that finds little does not hold up others. */
const maxPassed = 10_000;

export interface AuditRow<Text> {
  readonly at: number;
  readonly action: AuditAction;
  readonly owner: string | null;
  readonly task: string | null;
  readonly said: Text;
}

/** What an encrypted value is bound to: beside another owner's name it can no longer be read. */
export function placeOfSaid({ at, action, owner, task }: Omit<AuditRow<unknown>, 'said'>): string {
  return JSON.stringify([at, action, owner, task]);
}

/** An entry as a row, as statements take it. */
export function saidOf<Text extends Value>(
  entry: AuditEntry,
  { cells, name }: Pick<Tables<Text>, 'cells' | 'name'>,
): AuditRow<Text> {
  const { at, action, owner, taskId: task, ...said } = entry;
  const place = placeOfSaid({ at, action, owner, task });
  return {
    ...{ at, action },
    owner: owner === null ? null : name(owner),
    task: task === null ? null : name(task),
    said: cells.write(JSON.stringify(said), saidColumn, place),
  };
}

function entryOf<Text>(row: AuditRow<Text>, cells: Cells<Text>): AuditEntry {
  const { at, action, owner, task: taskId } = row;
  const said = JSON.parse(cells.read(row.said, saidColumn, placeOfSaid(row)));
  return { at, action, owner, taskId, ...said };
}

export function storedAudit<Text extends Value>(tables: Tables<Text>): Audit {
  const { cells, prefix, name } = tables;
  const audit = `${prefix}audit`;
  const insert = `insert into ${audit} (at, action, owner, task, said) values (?, ?, ?, ?, ?)`;
  return {
    async append(entries) {
      await tables.writeCells(insert, () =>
        entries.map((entry) => {
          const { at, action, owner, task, said } = saidOf(entry, tables);
          return [at, action, owner, task, said];
        }),
      );
    },
    async read({ limit, cursor = '0', taskId, owner, action, since, until }) {
      const own = conditions<Value>([
        ['seq > ?', numberIn(cursor)],
        ['task = ?', taskId && name(taskId)],
        ['owner = ?', owner && name(owner)],
      ]);
      const passing = `
        select max(seq) as last, count(*) as passed
        from (select seq from ${audit} where ${own.texts.join(' and ')} order by seq limit ${maxPassed}) as passed`;
      type Passed = { readonly last: number; readonly passed: number };
      const [end] = await tables.read(passing, own.values, (row: Passed) => row);
      const { last, passed } = end!;
      if (passed === 0) return { entries: [] };
      const wanted = conditions<Value>([
        ['seq <= ?', last],
        ['action = ?', action],
        ['at >= ?', since],
        ['at < ?', until],
      ]);
      const found = await tables.read(
        `select * from ${audit} where ${[...own.texts, ...wanted.texts].join(' and ')} order by seq limit ?`,
        [...own.values, ...wanted.values, limit + 1],
        (row: AuditRow<Text> & { readonly seq: number }) => ({ seq: row.seq, entry: entryOf(row, cells) }),
      );
      const entries = found.slice(0, limit).map(({ entry }) => entry);
      if (found.length > limit) return { entries, nextCursor: String(found[limit - 1]!.seq) };
      return passed === maxPassed ? { entries, nextCursor: String(last) } : { entries };
    },
    async prune(before, limit) {
      const old = `select seq from ${audit} where at < ? order by at limit ?`;
      const [oldest] = await tables.read(old, [before, 1], (row) => row);
      if (!oldest) return 0;
      const pruned = `update ${prefix}audit_pruned set before = ? where before < ?`;
      await tables.write(pruned, [before, before]);
      const gone = await tables.write(`delete from ${audit} where seq in (${old}) returning seq`, [
        before,
        limit,
      ]);
      return gone.length;
    },
  };
}
