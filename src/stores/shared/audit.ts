/** Audit entries as rows. Fields that SQL searches or compares are columns; `body` holds the rest as JSON. */
import type { Audit, AuditAction, AuditEntry } from '../../ports/audit.ts';
import type { Cells } from './encryption/cells.ts';
import { numberIn } from './query/cursor.ts';
import { conditions } from './query/sql.ts';
import type { Tables, Value } from './tables.ts';

const bodyColumn = 'audit.body';
/** How many rows one page may scan, so that a query with few matches does not block others for long. */
const maxScanned = 10_000;

/** `Text` is the type of a column with values that may be encrypted. */
export interface AuditRow<Text> {
  readonly at: number;
  readonly action: AuditAction;
  readonly owner: string | null;
  readonly task: string | null;
  readonly body: Text;
}

/** An encrypted body is bound to these columns: in a row where they differ, it cannot be decrypted. */
export function bodyLocation({ at, action, owner, task }: Omit<AuditRow<unknown>, 'body'>): string {
  return JSON.stringify([at, action, owner, task]);
}

/** Encodes an entry as a row. */
export function auditRow<Text extends Value>(
  entry: AuditEntry,
  { cells, name }: Pick<Tables<Text>, 'cells' | 'name'>,
): AuditRow<Text> {
  const { at, action, owner, taskId: task, ...rest } = entry;
  const location = bodyLocation({ at, action, owner, task });
  return {
    ...{ at, action },
    owner: owner === null ? null : name(owner),
    task: task === null ? null : name(task),
    body: cells.write(JSON.stringify(rest), bodyColumn, location),
  };
}

function entryOf<Text>(row: AuditRow<Text>, cells: Cells<Text>): AuditEntry {
  const { at, action, owner, task: taskId } = row;
  const rest = JSON.parse(cells.read(row.body, bodyColumn, bodyLocation(row)));
  return { at, action, owner, taskId, ...rest };
}

export function storedAudit<Text extends Value>(tables: Tables<Text>): Audit {
  const { cells, prefix, name } = tables;
  const audit = `${prefix}audit`;
  const insert = `insert into ${audit} (at, action, owner, task, body) values (?, ?, ?, ?, ?)`;
  return {
    async append(entries) {
      await tables.writeCells(insert, () =>
        entries.map((entry) => {
          const { at, action, owner, task, body } = auditRow(entry, tables);
          return [at, action, owner, task, body];
        }),
      );
    },
    async read({ limit, cursor = '0', taskId, owner, action, since, until }) {
      // The cursor is the number of the last row of the previous page. These conditions select rows in an index.
      const own = conditions<Value>([
        ['seq > ?', numberIn(cursor)],
        ['task = ?', taskId && name(taskId)],
        ['owner = ?', owner && name(owner)],
      ]);
      // The last row that this page may scan, and how many rows it scans.
      const scan = `
        select max(seq) as last, count(*) as scanned
        from (select seq from ${audit} where ${own.texts.join(' and ')} order by seq limit ${maxScanned}) as scanned`;
      type Scan = { readonly last: number; readonly scanned: number };
      const [end] = await tables.read(scan, own.values, (row: Scan) => row);
      const { last, scanned } = end!;
      if (scanned === 0) return { entries: [] };
      // These conditions filter the scanned rows.
      const wanted = conditions<Value>([
        ['seq <= ?', last],
        ['action = ?', action],
        ['at >= ?', since],
        ['at < ?', until],
      ]);
      const found = await tables.read(
        `select * from ${audit} where ${[...own.texts, ...wanted.texts].join(' and ')} order by seq limit ?`,
        // One more than the page, to find out whether another page follows.
        [...own.values, ...wanted.values, limit + 1],
        (row: AuditRow<Text> & { readonly seq: number }) => ({ seq: row.seq, entry: entryOf(row, cells) }),
      );
      const entries = found.slice(0, limit).map(({ entry }) => entry);
      if (found.length > limit) return { entries, nextCursor: String(found[limit - 1]!.seq) };
      // The scan may have stopped early: the next page continues after the last scanned row.
      return scanned === maxScanned ? { entries, nextCursor: String(last) } : { entries };
    },
    async prune(before, limit) {
      const old = `select seq from ${audit} where at < ? order by at limit ?`;
      const [oldest] = await tables.read(old, [before, 1], (row) => row);
      if (!oldest) return 0;
      // A trigger allows only the deletion of entries before this time.
      const pruned = `update ${prefix}audit_pruned set before = ? where before < ?`;
      await tables.write(pruned, [before, before]);
      const deleted = await tables.write(`delete from ${audit} where seq in (${old}) returning seq`, [
        before,
        limit,
      ]);
      return deleted.length;
    },
  };
}
