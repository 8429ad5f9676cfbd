/**
 * What the commands of one transaction write: collected in memory while they decide, each seeing what those before it
 * left, and written by one statement for all of them.
 */
import type { AuditEntry } from '../../engine/audit.ts';
import type { Change, TaskWrite } from '../../engine/change.ts';
import type { CommitNotice } from '../../engine/store.ts';
import type { DoneTask, Task, TaskId } from '../../model/task.ts';
import { bodyOf } from '../values/body.ts';
import { standingCodeOf } from '../values/standing-codes.ts';
import { auditRow, insertEntries } from './audit.ts';
import { type Cells, name } from './cells.ts';
import { type Job, newJobId } from './jobs.ts';
import type { Transaction } from './pool.ts';
import type { Rows, TaskRow } from './rows.ts';
import { addToSize, bytesOf, rowBytes } from './sizes.ts';

/** How long notices of removal wait for other processes to read them. */
const keepRemovalsMs = 3_600_000;

/** A commit with the number of its row. */
export interface NumberedNotice extends CommitNotice {
  readonly seq: number;
}

export interface Written {
  readonly notices: readonly NumberedNotice[];
  /** Jobs to be sent and deleted by the same transaction. */
  readonly sent: readonly Job[];
  readonly deleted: readonly Job[];
  /** True if tasks were left that no worker holds, to be claimed now or at a later moment. */
  readonly leftWork: boolean;
}

interface CommitRow {
  readonly task: number | null;
  /** The task of which the row is made by the same statement. */
  readonly made: string | null;
  readonly removed_id: string | null;
  readonly version: number;
  readonly at: number;
  readonly events: string;
  readonly journal: string | null;
}

export class Writes {
  readonly tasks = new Map<TaskId, Task>();
  /** The rows of those that were there when the transaction began. */
  readonly #rows = new Map<TaskId, TaskRow>();
  readonly #touched = new Set<TaskId>();
  readonly #removed: TaskRow[] = [];
  readonly #commits: CommitRow[] = [];
  readonly #notices: CommitNotice[] = [];
  readonly #audit: AuditEntry[] = [];
  readonly #jobs = { sent: [] as Job[], deleted: [] as Job[] };
  readonly #cells: Cells;
  #leftWork = false;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Adds what was read and locked. */
  add(found: readonly TaskRow[], rows: Rows): void {
    for (const row of found) {
      const task = rows.task(row);
      if (this.#rows.has(task.id)) continue;
      this.#rows.set(task.id, row);
      this.tasks.set(task.id, task);
    }
  }

  get isEmpty(): boolean {
    return this.#commits.length + this.#audit.length === 0;
  }

  apply({ writes, removed, audit }: Change, now: number): void {
    if (audit) this.#audit.push(...audit);
    for (const write of writes) this.#write(write);
    for (const id of removed) this.#remove(id, now);
  }

  /** `writer` is the name under which what is written adds to the size. */
  async flush(
    transaction: Transaction,
    sql: { write: string; remove: string; find: string },
    { now, writer }: { readonly now: number; readonly writer: string },
  ): Promise<Written> {
    const touched = [...this.#touched].map((id) => this.tasks.get(id)!);
    const changes = touched.map((task) => this.#rowOf(task, now));
    const results = changes.flatMap(({ row: { id, seq }, large }, index) =>
      large === undefined
        ? []
        : [{ id, seq, value: this.#cells.write(large, 'results.value', touched[index]!.id) }],
    );
    const audit = this.#audit.map((entry) => auditRow(entry, this.#cells));
    const made = changes.flatMap(({ row }) => (row.seq === null ? [row] : []));
    const changed = changes.flatMap(({ row }) => (row.seq === null ? [] : [row]));
    const lists = [made, changed, this.#commits, results, audit];
    const grown =
      this.#grownBy(changes.map(({ row }) => row)) +
      sum(results, ({ value }) => rowBytes.result + bytesOf(value)) +
      sum(audit, ({ said }) => rowBytes.entry + bytesOf(said)) +
      sum(this.#commits, ({ events, journal }) => rowBytes.commit + bytesOf(events) + bytesOf(journal));
    const rows = await transaction.query<{ seq: number; xact: string }>({ name: 'write', text: sql.write }, [
      ...lists.map((list) => JSON.stringify(list)),
      writer,
      grown,
    ]);
    const [first] = rows;
    if (first) transaction.trace = { number: first.xact, ...this.#trace(first.xact, sql.find) };
    if (this.#removed.length > 0) {
      const seqs = this.#removed.map(({ seq }) => seq);
      await transaction.query({ name: 'remove', text: sql.remove }, [
        seqs,
        now - keepRemovalsMs,
        this.#removed.length + 100,
        writer,
      ]);
    }
    const seqs = rows.map(({ seq }) => seq).sort((a, b) => a - b);
    return {
      notices: this.#notices.map((notice, index) => ({ ...notice, seq: seqs[index]! })),
      ...this.#jobs,
      leftWork: this.#leftWork,
    };
  }

  #grownBy(
    changes: readonly { readonly seq: number | null; readonly id: string; readonly body: string }[],
  ): number {
    const before = new Map([...this.#rows.values()].map((row) => [row.seq, row.body]));
    return sum(changes, ({ seq, body }) =>
      seq === null ? rowBytes.task + bytesOf(body) : bytesOf(body) - bytesOf(before.get(seq)),
    );
  }

  /** Its first commit, word for word. */
  #trace(xact: string, text: string) {
    const { version, at, events, journal, removed_id, task, made } = this.#commits[0]!;
    const values = [xact, version, at, events, journal, removed_id, task, made];
    return { find: { name: 'find commit', text }, values };
  }

  #write({ task, at, events, journal }: TaskWrite): void {
    const { id, rootId, version } = task;
    this.tasks.set(id, task);
    this.#touched.add(id);
    this.#commit(
      { taskId: id, rootId, version, at, events },
      {
        task: this.#rows.get(id)?.seq ?? null,
        made: this.#rows.has(id) ? null : name(id),
        removed_id: null,
        journal: journal ? this.#cells.write(JSON.stringify(journal), 'commits.journal', id, version) : null,
      },
    );
  }

  #remove(id: TaskId, at: number): void {
    const version = this.tasks.get(id)!.version + 1;
    const row = this.#rows.get(id);
    this.#commit(
      { taskId: id, rootId: id, version, at, events: [{ type: 'removed' }] },
      { task: null, made: null, removed_id: name(id), journal: null },
    );
    if (row) {
      this.#removed.push(row);
      this.#forgetJob(this.tasks.get(id)!, row);
    } else {
      // What happened to it in this transaction must still be told, of a task that never had a row.
      for (const [index, commit] of this.#commits.entries())
        if (commit.made === name(id)) this.#commits[index] = { ...commit, made: null, removed_id: name(id) };
    }
    this.tasks.delete(id);
    this.#touched.delete(id);
  }

  #commit(notice: CommitNotice, row: Omit<CommitRow, 'version' | 'at' | 'events'>): void {
    const { taskId, version, at, events } = notice;
    const written = this.#cells.write(JSON.stringify(events), 'commits.events', taskId, version);
    this.#commits.push({ ...row, version, at, events: written });
    this.#notices.push(notice);
  }

  #rowOf(task: Task, now: number) {
    const before = this.#rows.get(task.id);
    const live = task.phase === 'done' ? undefined : task;
    const { body, large } = bodyOf(task);
    const { owner, tool, idempotency } = task;
    const row = {
      seq: before?.seq ?? null,
      id: name(task.id),
      owner: name(owner),
      tool: name(tool),
      tool_version: name(task.toolVersion),
      parent_id: task.parentId === undefined ? null : name(task.parentId),
      root_id: task.parentId === undefined ? null : name(task.rootId),
      ordinal: task.ordinal,
      epoch: task.epoch,
      holder: live?.holder === undefined ? null : name(live.holder.name),
      lease_until: live?.holder?.leaseUntil ?? null,
      wake_at: live?.wakeAt ?? null,
      job: this.#jobOf(task, before, now),
      deadline_at: live?.deadlineAt ?? null,
      purge_at: task.phase === 'done' ? task.purgeAt : null,
      ended_at: isKeptRoot(task) ? task.finishedAt : null,
      unpublished: task.unpublished ? true : null,
      waiting: task.phase === 'waiting' ? true : null,
      standing: standingCodeOf(task),
      created_at: task.createdAt,
      idempotency_key: idempotency ? this.#cells.keyOf({ owner, tool, key: idempotency.key }) : null,
      body: this.#cells.write(body, 'tasks.body', task.id),
    };
    return { row, large };
  }

  /** A task that could be claimed now and that nobody holds has a job that leads to it; no other task has one. */
  #jobOf(task: Task, row: TaskRow | undefined, now: number): string | null {
    const isFree = task.phase !== 'done' && task.wakeAt !== null && !task.holder;
    this.#leftWork ||= isFree;
    if (isFree && task.wakeAt! <= now) {
      if (row?.job) return row.job;
      const id = newJobId(now);
      this.#jobs.sent.push({ id, task: task.id, tool: task.tool, version: task.toolVersion });
      return id;
    }
    if (row) this.#forgetJob(task, row);
    return null;
  }

  #forgetJob({ id: task, tool, toolVersion: version }: Task, { job }: TaskRow): void {
    if (job) this.#jobs.deleted.push({ id: job, task, tool, version });
  }
}

/** One that others know of, and that has ended. */
function isKeptRoot(task: Task): task is DoneTask {
  return task.phase === 'done' && task.parentId === undefined && !task.unpublished;
}

function sum<T>(some: readonly T[], of: (one: T) => number): number {
  return some.reduce((total, one) => total + of(one), 0);
}

export function writeStatements(schema: string): { write: string; remove: string; find: string } {
  const state = `epoch integer, holder text, lease_until double precision, wake_at double precision, job uuid,
    deadline_at double precision, purge_at double precision, ended_at double precision, unpublished boolean, waiting boolean, standing integer, body text`;
  const place = `id text, owner text, tool text, tool_version text, parent_id text, root_id text, ordinal integer,
    created_at double precision, idempotency_key text`;
  const bytesOfCommit = `octet_length(events) + coalesce(octet_length(journal), 0) + ${rowBytes.commit} as bytes`;
  const namesOf = (columns: string) =>
    columns.replace(/ (text|integer|double precision|uuid|boolean)(?=,|$)/g, '');
  const columns = namesOf(`${place}, ${state}`);
  const stateNames = namesOf(state).split(/,\s*/);
  const lists = ['made', 'changed', 'commits', 'results', 'audit'];
  // Each list is a parameter of its own: taken out of one document, each would cost a walk through all of it.
  const records = (list: string, types: string) =>
    `json_to_recordset($${lists.indexOf(list) + 1}::text::json) as v (${types})`;
  return {
    write: `
      with made as (
        insert into ${schema}.tasks (${columns}) select ${columns} from ${records('made', `${place}, ${state}`)}
        returning seq, id),
      changed as (
        update ${schema}.tasks t set deserted = false, ${stateNames.map((one) => `${one} = v.${one}`).join(', ')}
        from ${records('changed', `seq bigint, ${state}`)} where t.seq = v.seq),
      apart as (
        insert into ${schema}.results (task, value)
        select coalesce(v.seq, made.seq), v.value
        from ${records('results', 'id text, seq bigint, value text')} left join made on made.id = v.id
        on conflict (task) do update set value = excluded.value),
      said as (${insertEntries(schema, '$5::text::json')}),
      grown as (insert into ${schema}.sizes (writer, bytes) values ($6, $7) ${addToSize})
      insert into ${schema}.commits (task, removed_id, version, at, events, journal)
      select coalesce(v.task, made.seq), v.removed_id, v.version, v.at, v.events, v.journal
      from (select row_number() over () as place, v.* from ${records(
        'commits',
        'task bigint, made text, removed_id text, version integer, at double precision, events text, journal text',
      )}) v left join made on made.id = v.made
      order by v.place
      returning seq, xact`,
    find: `
      select 1 from ${schema}.commits
      where xact = $1::text::xid8 and version = $2 and at = $3 and events = $4 and journal is not distinct from $5
        and (removed_id = $6 or task = $7 or task = (select seq from ${schema}.tasks where id = $8))`,
    remove: `
      with gone as (
        delete from ${schema}.tasks where seq = any($1::bigint[])
        returning octet_length(body) + ${rowBytes.task} as bytes),
      apart as (
        delete from ${schema}.results where task = any($1::bigint[])
        returning octet_length(value) + ${rowBytes.result} as bytes),
      own as (delete from ${schema}.commits where task = any($1::bigint[]) returning ${bytesOfCommit}),
      old as (
        delete from ${schema}.commits where seq in (
          select seq from ${schema}.commits where task is null and at < $2
          order by at limit $3 for update skip locked)
        returning ${bytesOfCommit}),
      lost as (
        select bytes from gone union all select bytes from apart
        union all select bytes from own union all select bytes from old)
      insert into ${schema}.sizes (writer, bytes) select $4, -sum(bytes) from lost ${addToSize}`,
  };
}
