/**
 * Brings every value of a file to how it would be written now: encrypted, under the youngest key, or plain again.
 * In small batches through the same group commit as all other commands, with pauses in between; how far it has come
 * is committed with each batch, so that whoever opens the file next goes on from there, and several processes share
 * the work. Nobody can write in the old way meanwhile: each commit is fenced by the seal (`seal.ts`).
 */
import type { Clock } from '../../model/clock.ts';
import { BackgroundWork, type Progress } from '../values/background-work.ts';
import { rewritesOf, type Stage, stages } from '../values/rewritten.ts';
import type { Stored } from './cells.ts';
import { compact } from './compaction.ts';
import { type Connection, forgetThoroughly, worded } from './driver.ts';
import {
  compaction,
  finishCompaction,
  finishRewriting,
  finishStage,
  reachPosition,
  readEncryption,
} from './encryption.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Manner } from './manner.ts';
import type { Vault } from './vault.ts';

/** Bounds how long the event loop stands still for one batch. */
const batchRows = 100;
const batchBytes = 256 * 1024;

type Row = { readonly seq: number } & Readonly<Record<string, unknown>>;

/** The rows of each table in their order, and how one of them is put back. */
const tables: Readonly<Record<Stage, { readonly select: string; readonly update: string }>> = {
  tasks: {
    select: 'select seq, id, owner, tool, idempotency_key as key, body from tasks where seq > ? order by seq',
    update: 'update tasks set idempotency_key = :key, body = :body where seq = :seq',
  },
  commits: {
    select: `
      select commits.seq, coalesce(tasks.id, removed_id) as id, version, events, journal
      from commits left join tasks on tasks.seq = commits.task where commits.seq > ? order by commits.seq`,
    update: 'update commits set events = :events, journal = :journal where seq = :seq',
  },
  results: {
    select: `
      select results.task as seq, tasks.id, value from results join tasks on tasks.seq = results.task
      where results.task > ? order by results.task`,
    update: 'update results set value = :value where task = :seq',
  },
  sessions: {
    select: 'select rowid as seq, id, opening from sessions where rowid > ? order by rowid',
    update: 'update sessions set opening = :opening where rowid = :seq',
  },
  secrets: {
    select: 'select rowid as seq, name as id, value from secrets where rowid > ? order by rowid',
    update: 'update secrets set value = :value where rowid = :seq',
  },
  audit: {
    select: 'select * from audit where seq > ? order by seq',
    update: 'update audit set said = :said where seq = :seq',
  },
};

const rewrites = rewritesOf<Stored>();

export class Rewriting {
  readonly #db: Connection;
  readonly #vault: Vault;
  readonly #manner: Manner;
  readonly #commands: GroupCommit;
  readonly #clock: Clock;
  /** None in memory, where there is nothing to compact. */
  readonly #file: string | undefined;
  readonly #place: string;
  readonly #work: BackgroundWork;

  constructor(parts: {
    readonly db: Connection;
    readonly vault: Vault;
    readonly manner: Manner;
    readonly commands: GroupCommit;
    readonly clock: Clock;
    readonly file: string | undefined;
    readonly place: string;
  }) {
    this.#db = parts.db;
    this.#vault = parts.vault;
    this.#manner = parts.manner;
    this.#commands = parts.commands;
    this.#clock = parts.clock;
    this.#file = parts.file;
    this.#place = parts.place;
    this.#work = new BackgroundWork({
      place: parts.place,
      failure: `Values in ${parts.place} could not be rewritten`,
      batch: () => this.#next(),
    });
  }

  /** Begins in the background, if there is anything to do. */
  start(): void {
    if (readEncryption(this.#db).stage === null) return;
    this.#work.start();
  }

  /** Resolves once nothing is left to be rewritten. */
  finish(): Promise<void> {
    return this.#work.finish();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #next(): Promise<Progress> {
    // What stood under an older key is to be gone, not only forgotten, whoever writes until the end.
    forgetThoroughly(this.#db, 'on');
    let progress: Progress | 'compaction' = 'end';
    try {
      progress = await this.#commands.submit(() => this.#batch());
      if (progress === 'compaction') await this.#compact();
    } finally {
      if (progress === 'end' && this.#db.isOpen) forgetThoroughly(this.#db, 'fast');
    }
    return progress === 'compaction' ? 'go on' : progress;
  }

  /** Inside a transaction. */
  #batch(): Progress | 'compaction' {
    const { stage, position } = readEncryption(this.#db);
    if (stage === null) return 'end';
    if (stage === compaction) return 'compaction';
    const next = this.#rewriteSome(stage as Stage, position);
    if (next !== undefined) {
      reachPosition(this.#db, next);
      return 'rest';
    }
    const following = stages[stages.indexOf(stage as Stage) + 1];
    if (following !== undefined) {
      finishStage(this.#db, following);
    } else {
      if (this.#vault.writesPlain) this.#vault.forgetLookupSecret();
      finishRewriting(this.#db, this.#vault.cipher!, this.#clock.now());
      this.#manner.move();
    }
    return 'rest';
  }

  /** The last row that was looked at; none if there were no more. */
  #rewriteSome(stage: Stage, after: number): number | undefined {
    const rows: Row[] = [];
    let bytes = 0;
    for (const row of this.#db.prepare(tables[stage].select).iterate(after)) {
      rows.push(row as Row);
      for (const value of Object.values(row)) bytes += sizeOf(value);
      if (rows.length === batchRows || bytes > batchBytes) break;
    }
    const update = this.#db.prepare(tables[stage].update);
    for (const row of rows) {
      const values = rewrites[stage](row as never, this.#vault.cells);
      if (values) update.run({ ...(values as Record<string, Stored | null>), seq: row.seq });
    }
    return rows.at(-1)?.seq;
  }

  async #compact(): Promise<void> {
    try {
      if (this.#file !== undefined && !(await compact(this.#db, this.#file, () => this.#work.isStopped)))
        return;
    } catch (error) {
      throw worded(error, this.#place);
    }
    await this.#commands.submit(() => finishCompaction(this.#db));
  }
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return value instanceof Uint8Array ? value.byteLength : 0;
}
