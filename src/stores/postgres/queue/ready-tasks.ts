/**
 * Claims. A claim selects claimable rows and locks them (`for update skip locked`), so that two workers never decide on
 * the same task. Then the rule decides on each. Owners take turns: the scan of the index of ready tasks starts after
 * the owner that this process served last, and each owner gets an equal share. If a timer is due, its task is made
 * ready first. The clock of the server decides whether a lease has expired, the clock of this process all other times.
 */

import { Refusal } from '../../../model/errors.ts';
import type { Json } from '../../../model/json.ts';
import type { Task, TaskId } from '../../../model/task.ts';
import type { FreedWorker, ToolVersion } from '../../../ports/queue.ts';
import type { ClaimedChange, ClaimQuery, ClaimRule, Claims, CommittedChange } from '../../../ports/store.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { eventsIn } from '../../shared/task-texts.ts';
import { prepared, toStoreError } from '../connections/driver.ts';
import type { Sent, Transaction } from '../connections/pool.ts';
import { type Cells, named, name as stored } from '../encryption/cells.ts';
import type { Rows, TaskRow } from '../tasks/rows.ts';
import { Writes } from '../tasks/writes.ts';

/** An SQL expression for the current time of the server, in milliseconds since 1970. */
export const serverNow = '(extract(epoch from clock_timestamp()) * 1000)::double precision';

/** A task that can be claimed. If it never ran, `at`, `events` and `journal` are those of its first commit. */
export interface ReadyRow extends TaskRow {
  readonly root_id: string | null;
  readonly owner: string;
  readonly worker: string | null;
  /** Whether its worker is dead although the lease has not expired. */
  readonly deserted: boolean;
  /** The position of its owner in this round, from 1; 0 if it was taken from a worker. */
  readonly turn: number;
  /** Its position among the selected tasks of its owner, tool and version, from 1. */
  readonly rank: number;
  /** How many tasks of each owner, tool and version this round may claim. */
  readonly share: number;
  /** Null if the task ran before; then `events` and `journal` are null too. */
  readonly at: number | null;
  readonly events: string;
  /** Null if it is not the complete journal, or longer than `maxJournalLength`. */
  readonly journal: string | null;
}

/** When a claim expects the next work. Times use the clock of this process, durations that of the server. */
export interface Expected {
  /** When the next timer is due; infinite if there is none. */
  readonly timerAt: number;
  /** Until the next lease expires; infinite if there is none, undefined if the claim did not check claimed tasks. */
  readonly leaseMs: number | undefined;
}

/** The rows that a claim has locked. */
export interface Selected extends Expected {
  readonly rows: readonly ReadyRow[];
}

/** A claim returns journals up to this stored length, in bytes; longer ones are read separately. */
const maxJournalLength = 16 * 1024;
/** How many tasks with due timers one claim makes ready. */
const maxTimers = 500;

export class ReadyTasks {
  readonly #sql: ReturnType<typeof statements>;
  readonly #dead: () => readonly string[];
  /** The owner that this process served last; encoded as in its column. */
  #served = '';

  constructor(schema: string, dead: () => readonly string[]) {
    this.#sql = statements(schema);
    this.#dead = dead;
  }

  /** The opening statements of a claim. `select` uses their results. */
  opening(query: ClaimQuery, now: number, checksClaimed: boolean): Sent[] {
    const [tools, versions] = columnsOf(query.tools);
    const claimed: Sent[] = [
      {
        statement: this.#sql.freed,
        // A process never takes a task from itself while it is running it.
        values: [
          tools,
          versions,
          now,
          query.limit,
          [...query.running, ...query.except].map(stored),
          this.#dead().map(stored),
        ],
      },
      { statement: this.#sql.nextLease, values: [] },
    ];
    return [
      { statement: this.#sql.nextTimer, values: [tools, versions] },
      this.#ready(query),
      ...(checksClaimed ? claimed : []),
    ];
  }

  /** Selects and locks ready tasks. Each owner may get at least `share` tasks, if `query.limit` allows. */
  #ready(query: ClaimQuery, share = 1): Sent {
    const values = [...columnsOf(query.tools), query.limit, this.#served, exceptOf(query), share];
    return { statement: this.#sql.ready, values };
  }

  /** Ready tasks in the order of claiming. The transaction must have begun with the `opening` statements. */
  async select(transaction: Transaction, query: ClaimQuery, now: number): Promise<Selected> {
    const run = async ({ statement, values }: Sent) => transaction.query<ReadyRow>(statement, values);
    // In the order of `opening`. The last two are missing if the claim does not check claimed tasks.
    const [timers, ready, freed = [], leases] = transaction.found;
    const timerAt = (timers![0]!.next as number | null) ?? Number.POSITIVE_INFINITY;
    const leaseMs = leases && ((leases[0]!.left as number | null) ?? Number.POSITIVE_INFINITY);
    let found = ready as unknown as ReadyRow[];
    if (timerAt <= now) {
      await run({ statement: this.#sql.due, values: [...columnsOf(query.tools), now] });
      found = await run(this.#ready(query));
    }
    const rows = [...(freed as unknown as ReadyRow[]), ...found];
    // If some owners had fewer tasks than their share, owners with a full share get more.
    const left = query.limit - rows.length;
    if (left > 0 && found.some(({ rank, share }) => rank === share)) {
      const except = new Set([...query.except, ...rows.map(({ id }) => named(id))]);
      rows.push(...(await run(this.#ready({ ...query, limit: left, except }, left))));
    }
    return { rows: rows.slice(0, query.limit), timerAt, leaseMs };
  }

  /** Records the last owner of a round. The next round begins after it. */
  served(rows: readonly ReadyRow[]): void {
    const last = rows.reduce<ReadyRow | undefined>(
      (latest, row) => (latest && latest.turn >= row.turn ? latest : row),
      undefined,
    );
    if (last) this.#served = last.owner;
  }

  /** The evidence that the worker of the task lost its claim; undefined if the task has none. */
  freedWorker({ worker, deserted, lease_until: leaseUntil }: ReadyRow): FreedWorker | undefined {
    if (worker === null) return undefined;
    const name = named(worker);
    const isDead = deserted || this.#dead().includes(name);
    return isDead ? { name } : { name, leaseUntil: leaseUntil! };
  }
}

export interface DecidedClaims extends Claims {
  readonly writes: Writes;
  /** The first commits of claimed tasks that never ran. Subscribers may not have received them yet. */
  readonly firstCommits: readonly CommittedChange[];
}

interface ClaimParts {
  readonly rows: Rows;
  readonly ready: ReadyTasks;
  readonly vault: Cells;
  readonly clock: Clock;
  readonly place: string;
}

/** Applies the rule to each row and collects the writes. A row that is unreadable is reported and affects no other. */
export function decideClaims(
  selected: readonly ReadyRow[],
  decide: ClaimRule,
  parts: ClaimParts,
): DecidedClaims {
  const { rows, ready, vault, clock, place } = parts;
  const writes = new Writes(vault);
  const claimed: ClaimedChange[] = [];
  const failed: { taskId: TaskId; error: unknown }[] = [];
  const firstCommits: CommittedChange[] = [];
  for (const row of selected) {
    try {
      const found = rows.cached(row);
      const verdict = decide(found.task, ready.freedWorker(row));
      if (verdict instanceof Refusal) continue;
      writes.add([found]);
      writes.apply(verdict, clock.now());
      const first = firstCommit(row, found.task, vault);
      if (first) firstCommits.push(first.change);
      claimed.push({ change: verdict, ...(first?.journal && { journal: first.journal }) });
    } catch (error) {
      failed.push({ taskId: named(row.id), error: toStoreError(error, place) });
    }
  }
  return { writes, claimed, failed, firstCommits };
}

/**
 * The first commit of a task that never ran: its creation, for subscribers, and its journal, for the pass. Undefined if
 * the task has later commits.
 */
function firstCommit(row: ReadyRow, { id, rootId, version }: Task, cells: Cells) {
  if (row.at === null || version > 1) return undefined;
  try {
    const events = eventsIn(cells.read(row.events, 'commits.events', id, 1));
    const journal: Json[] | null =
      row.journal && JSON.parse(cells.read(row.journal, 'commits.journal', id, 1));
    const change: CommittedChange = { taskId: id, rootId, version: 1, at: row.at, events };
    return { change, journal };
  } catch {
    return undefined; // Corrupt. The next reader of this commit reports it.
  }
}

/** The tools and their versions as two array parameters, encoded as in their columns. */
export function columnsOf(tools: readonly ToolVersion[]): [string[], string[]] {
  return [tools.map(({ tool }) => stored(tool)), tools.map(({ version }) => stored(version))];
}

function exceptOf({ except }: ClaimQuery): string[] {
  return [...except].map(stored);
}

function statements(schema: string) {
  const tasks = `${schema}.tasks`;
  // Pairs of tool and version.
  const kinds = 'unnest($1::text[], $2::text[]) as kind (tool, version)';
  const ofKind = 't.tool = kind.tool and t.tool_version = kind.version';
  const columns =
    't.seq, t.id, t.body, t.lease_until, t.xmin::text as xmin, t.owner, t.root_id, t.worker, t.deserted, t.epoch, t.journals';
  const isReady = 't.ready and t.worker is null';
  const isSleeping = 'not t.ready and t.wake_at is not null and t.worker is null';
  // `offset 0` forces one index look-up per row (`rows.ts`).
  const withFirstCommit = (rows: string) => `
    select t.*, c.at, c.events,
      case when t.journals = 1 and octet_length(c.journal) <= ${maxJournalLength} then c.journal end as journal
    from ${rows} t left join lateral (
      select at, events, journal from ${schema}.commits
      where task = t.seq and version = 1 and t.epoch = 0 offset 0) c on true
    order by t.rank, t.wake_at, t.seq`;
  return prepared({
    // $3: limit; $4: the owner that was served last; $5: excluded tasks; $6: minimum share. `owners` lists the owners
    // with ready tasks, each found with one index probe. After the last owner the scan wraps around to the first, up to
    // the one that was served last. `taken` locks the share of each owner, and `chosen` selects the limit from these.
    ready: `
      with recursive owners as (
        select kind.tool, kind.version, $4::text collate "C" as owner, false as wrapped, 0 as turn from ${kinds}
        union all
        select o.tool, o.version, n.owner, n.wrapped, o.turn + 1
        from owners o cross join lateral (
          (select t.owner, o.wrapped as wrapped from ${tasks} t
           where t.tool = o.tool and t.tool_version = o.version and t.owner > o.owner and ${isReady}
           order by t.owner limit 1)
          union all
          (select t.owner, true from ${tasks} t
           where not o.wrapped and t.tool = o.tool and t.tool_version = o.version and ${isReady}
           order by t.owner limit 1)
          limit 1) n
        where o.turn < $3 and not (n.wrapped and n.owner > $4)),
      turns as materialized (
        select *, greatest($6::integer, ceil($3::double precision / count(*) over ())::integer) as share
        from (select * from owners where turn > 0 order by turn limit $3) o),
      taken as materialized (
        select t.*, o.turn, o.share, row_number() over (partition by o.turn, o.tool, o.version order by t.wake_at, t.seq) as rank
        from turns o cross join lateral (
          select ${columns}, t.wake_at from ${tasks} t
          where t.tool = o.tool and t.tool_version = o.version and t.owner = o.owner and ${isReady}
            and t.id <> all($5::text[])
          order by t.wake_at, t.seq limit o.share for update of t skip locked) t),
      chosen as materialized (select * from taken order by rank, wake_at, seq limit $3)
      ${withFirstCommit('chosen')}`,
    // $3: now; $4: limit; $5: tasks that this process runs or must not claim; $6: dead processes. Claimed tasks are
    // few, so each is checked.
    freed: `
      with chosen as materialized (
        select ${columns}, t.wake_at, 0 as turn, 1 as rank, 0 as share from ${tasks} t join ${kinds} on ${ofKind}
        where t.worker is not null and (t.ready or t.wake_at <= $3) and t.id <> all($5::text[])
          and (t.lease_until <= ${serverNow} or t.deserted or t.worker = any($6::text[]))
        order by t.wake_at, t.seq limit $4 for update of t skip locked)
      ${withFirstCommit('chosen')}`,
    // $3: now.
    due: `
      update ${tasks} set ready = true where seq = any(array(
        select d.seq from ${kinds} cross join lateral (
          select t.seq from ${tasks} t where ${ofKind} and ${isSleeping} and t.wake_at <= $3
          order by t.wake_at limit ${maxTimers} for update of t skip locked) d))`,
    nextTimer: `
      select min(r.wake_at) as next from ${kinds} cross join lateral (
        select t.wake_at from ${tasks} t where ${ofKind} and ${isSleeping} order by t.wake_at limit 1) r`,
    nextLease: `
      select min(t.lease_until) - ${serverNow} as "left" from ${tasks} t
      where t.worker is not null and t.lease_until > ${serverNow}`,
  });
}
