/**
 * The order in which workers claim ready tasks: owners take turns (round robin), and for each owner the task that has
 * been ready longest comes first. The scan visits the index owner by owner, one look-up each, and starts after the
 * owner that was served last.
 */

import type { Owner, TaskId } from '../../../model/task.ts';
import type { ToolVersion } from '../../../ports/queue.ts';
import type { Connection } from '../driver.ts';

export interface ReadyRow {
  readonly id: TaskId;
  readonly owner: Owner;
  /** When the task became ready or its timer comes due, in milliseconds since 1970. */
  readonly wake_at: number;
}

/** How many tasks with due timers one call of `enqueueDue` marks as ready, per tool version. */
const maxTimers = 500;

export class FairOrder {
  readonly #sql: ReturnType<typeof prepare>;
  /** The owner that was served last. */
  #served: Owner | undefined;

  constructor(db: Connection) {
    this.#sql = prepare(db);
  }

  /** Up to `limit` sleeping tasks whose timer is due, the earliest first, regardless of owners. */
  due(tools: readonly ToolVersion[], now: number, limit: number): ReadyRow[] {
    const rows = tools.flatMap(
      ({ tool, version }) => this.#sql.due.all(tool, version, now, limit) as unknown as ReadyRow[],
    );
    return rows.sort(byReadiness).slice(0, limit);
  }

  /** Marks tasks with a due timer as ready, so that their owners take turns, too. Call it inside a transaction. */
  enqueueDue(tools: readonly ToolVersion[], now: number): void {
    for (const { tool, version } of tools) this.#sql.enqueueDue.run(tool, version, now, maxTimers);
  }

  /** Selects up to `limit` ready tasks: first one of each owner, then a second one of each, and so on. */
  next(tools: readonly ToolVersion[], limit: number): ReadyRow[] {
    // Tools with ready tasks.
    const busy = tools.filter(({ tool, version }) => this.#sql.any.get(tool, version) !== undefined);
    if (busy.length === 0) return [];
    const owners = this.#owners(busy, limit);
    const share = Math.ceil(limit / owners.length);
    let lines = owners.map((owner) => this.#line(busy, owner, share));
    // If some owners have fewer tasks than their share, the others get more.
    if (lines.reduce((sum, line) => sum + line.length, 0) < limit)
      lines = lines.map((line, n) => (line.length < share ? line : this.#line(busy, owners[n]!, limit)));
    const rows: ReadyRow[] = [];
    for (let round = 0; rows.length < limit && lines.some((line) => line.length > round); round++)
      for (const line of lines) if (line.length > round && rows.length < limit) rows.push(line[round]!);
    this.#served = rows.at(-1)?.owner;
    return rows;
  }

  /** The next owners with ready tasks, at most `limit`: after the one that was served last, then from the beginning. */
  #owners(busy: readonly ToolVersion[], limit: number): Owner[] {
    const owners: Owner[] = [];
    const start = this.#served;
    let last = start;
    for (let hasWrapped = start === undefined; owners.length < limit; ) {
      const next = this.#ownerAfter(busy, last);
      if (next === undefined) {
        if (hasWrapped) break;
        hasWrapped = true;
        last = undefined;
        continue;
      }
      if (hasWrapped && start !== undefined && isAfter(next, start)) break;
      owners.push(next);
      last = next;
    }
    return owners;
  }

  /** The first owner with ready tasks after this one in SQLite's order; the first of all without `owner`. */
  #ownerAfter(busy: readonly ToolVersion[], owner: Owner | undefined): Owner | undefined {
    const { first, after } = this.#sql;
    return busy
      .flatMap(({ tool, version }) => {
        const row = owner === undefined ? first.get(tool, version) : after.get(tool, version, owner);
        return (row as { owner: Owner } | undefined)?.owner ?? [];
      })
      .reduce<Owner | undefined>(
        (earliest, one) => (earliest === undefined || isAfter(earliest, one) ? one : earliest),
        undefined,
      );
  }

  /** An owner's ready tasks, those that have been ready longest first. */
  #line(busy: readonly ToolVersion[], owner: Owner, limit: number): ReadyRow[] {
    const rows = busy.flatMap(
      ({ tool, version }) => this.#sql.line.all(tool, version, owner, limit) as unknown as ReadyRow[],
    );
    return busy.length === 1 ? rows : rows.sort(byReadiness).slice(0, limit);
  }
}

function byReadiness(a: ReadyRow, b: ReadyRow): number {
  return a.wake_at - b.wake_at;
}

/** True if `one` comes after `other` in SQLite's order of texts, which compares their UTF-8 bytes. */
function isAfter(one: Owner, other: Owner): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) > 0;
}

/** The reason for `limit +?` is in `statements.ts`. */
function prepare(db: Connection) {
  const ready = 'tool = ? and tool_version = ? and ready is not null and worker is null';
  const due = `
    from tasks indexed by tasks_sleeping
    where tool = ? and tool_version = ? and ready is null and worker is null and wake_at is not null
      and wake_at <= ? order by wake_at limit +?`;
  const from = 'from tasks indexed by tasks_in_turn where';
  return {
    any: db.prepare(`select 1 ${from} ${ready} limit 1`),
    first: db.prepare(`select owner ${from} ${ready} order by owner limit 1`),
    after: db.prepare(`select owner ${from} ${ready} and owner > ? order by owner limit 1`),
    line: db.prepare(
      `select id, owner, wake_at ${from} ${ready} and owner = ? order by wake_at, seq limit +?`,
    ),
    due: db.prepare(`select id, owner, wake_at ${due}`),
    enqueueDue: db.prepare(`update tasks set ready = 1 where seq in (select seq ${due})`),
  };
}
