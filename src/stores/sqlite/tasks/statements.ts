/**
 * All statements of `rows.ts`, prepared once. They use `limit +?`, because SQLite recompiles a statement with `limit ?`
 * each time the limit is bound, which takes ten times as long as running it. The plus sign hides the parameter from the
 * query planner.
 */

import type { Connection } from '../driver.ts';
import type { Cells } from '../encryption/cells.ts';

export function prepare(db: Connection, { keys }: Cells) {
  // Encrypted bodies are decrypted together with the id.
  const columns = keys ? 'seq, body, lease_until, id' : 'seq, body, lease_until';
  return {
    get: asArrays(db.prepare(`select ${columns} from tasks where id = ?`)),
    // A task only if it belongs to the owner. Callers must not learn from the duration whether a task of another owner
    // exists, so both cases search the index and then read one row: for a missing id, the first row of the table. The
    // owner column precedes the body, so only the first page of a large row is read. If a corrupt index leads to a row
    // with another id, that row is returned, so that `rows.ts` reports the damage.
    getOf: asArrays(
      db.prepare(`
        select ${columns} from (select (select seq from tasks where id = ?) as found) cross join tasks
        where seq = coalesce(found, 1) and iif(+id = ?, +owner = ?, found is not null)`),
    ),
    // All descendants. Not `union all`, which would never end if a corrupt index made a task its own descendant.
    descendants: db.prepare(`
      with recursive below (seq, id) as (
        select seq, id from tasks where parent_id = ?
        union
        select tasks.seq, tasks.id from below join tasks on tasks.parent_id = below.id
      )
      select tasks.seq, body, lease_until, tasks.id from below join tasks on tasks.seq = below.seq order by below.seq`),
    // Subtasks with open questions, and their ancestors except the root.
    asking: db.prepare(`
      with recursive path (seq, parent_id) as (
        select seq, parent_id from tasks where root_id = ? and waiting is not null
        union
        select tasks.seq, tasks.parent_id from path join tasks on tasks.id = path.parent_id
        where tasks.parent_id is not null
      )
      select tasks.seq, body, lease_until, tasks.id from path join tasks on tasks.seq = path.seq order by path.seq`),
    idAt: db.prepare('select id from tasks where seq = ?'),
    withKey: db.prepare(`select ${columns} from tasks where owner = ? and tool = ? and idempotency_key = ?`),
    // Joins the table itself, so that `task` and `version` come from the row and not from an index that may be corrupt.
    journal: db.prepare(`
      select own.task, own.version, own.journal
      from commits indexed by commits_with_journal join commits as own on own.seq = commits.seq
      where commits.task = ? and commits.journal is not null order by commits.version`),
    journals: db.prepare('select journals from tasks where seq = ?'),
    // Free pages do not count, because the database will reuse them.
    size: db.prepare(`
      select (page_count - freelist_count) * page_size as bytes
      from pragma_page_count, pragma_freelist_count, pragma_page_size`),
    newestCommit: db.prepare('select max(seq) as seq from commits'),
    commitsAfter: db.prepare(`
      select commits.seq, coalesce(tasks.id, removed_id) as id,
        coalesce(tasks.root_id, tasks.id, removed_id) as root_id, version, at, events
      from commits left join tasks on tasks.seq = commits.task where commits.seq > ? order by commits.seq limit +?`),
    insert: db.prepare(`
      insert into tasks (epoch, worker, lease_until, lease_ms, ready, wake_at, deadline_at, purge_at, ended_at, unpublished,
        waiting, status, join_key, body, journals, answering, id, owner, tool, tool_version, parent_id, root_id, ordinal, created_at, idempotency_key)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    // A task keeps the right to run alone only for the same claim: while its epoch is unchanged and it has a worker.
    update: db.prepare(`
      update tasks set alone = iif(epoch = ? and ? is not null, alone, null),
        epoch = ?, worker = ?, lease_until = ?, lease_ms = ?, ready = ?, wake_at = ?, deadline_at = ?, purge_at = ?,
        ended_at = ?, unpublished = ?, waiting = ?, status = ?, join_key = ?, body = ?, journals = journals + ?
      where seq = ?`),
    remove: db.prepare('delete from tasks where seq = ?'),
    commit: db.prepare(
      'insert into commits (task, removed_id, version, at, events, journal, idle) values (?, ?, ?, ?, ?, ?, ?)',
    ),
    audit: db.prepare('insert into audit (at, action, owner, task, body) values (?, ?, ?, ?, ?)'),
    idlePasses: db.prepare(
      'select task, version from commits where idle is not null and at < ? order by at limit +?',
    ),
    // `version` is that of the commit that ended an idle pass; the commit before it is the pass's claim. Both are
    // deleted (`forgetPass`), and the commit after them counts the versions that are missing before it.
    leaveOutBefore: db.prepare(`
      update commits set left_out = left_out + (
        select sum(1 + left_out) from commits as pass where task = :task and version between :version - 1 and :version)
      where seq = (select seq from commits where task = :task and version > :version order by version limit 1)`),
    forgetPass: db.prepare(
      'delete from commits where task = :task and version between :version - 1 and :version',
    ),
    // Keeps the pass for good: it was the last one, so there was no later commit to count it.
    keepPass: db.prepare('update commits set idle = null where task = :task and version = :version'),
    forgetCommits: db.prepare('delete from commits where task = ?'),
    // Deletes old commits of removals, except the newest commit. The limit is higher than the number of commits just
    // added, so that a backlog shrinks: an hour after a mass removal there may be hundreds of thousands.
    forgetRemovals: db.prepare(`
      delete from commits where seq < (select max(seq) from commits)
        and seq in (select seq from commits where task is null and at < ? order by at limit +?)`),
    // Large results are stored in a separate table.
    resultApart: db.prepare('select value from results where task = ?'),
    keepApart: db.prepare('insert or replace into results (task, value) values (?, ?)'),
    forgetResult: db.prepare('delete from results where task = ?'),
  };
}

/** Makes a statement return rows as arrays, which `rows.ts` reads faster than objects. */
function asArrays<S extends { setReturnArrays(enabled: boolean): void }>(statement: S): S {
  statement.setReturnArrays(true);
  return statement;
}
