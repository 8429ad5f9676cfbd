/**
 * Brings every value to how it would be written now: encrypted, under the youngest key, or plain again. In small
 * batches, with pauses in between; how far it has come is committed with each batch, so that any process goes on from
 * there, and of several one at a time works. Nobody can write in the old way meanwhile (`encryption.ts`).
 */
import { BackgroundWork, type Progress } from '../values/background-work.ts';
import { settled } from '../values/encryption.ts';
import { rewritesOf, type Stage, stages } from '../values/rewritten.ts';
import { namedRow } from './audit.ts';
import { named } from './cells.ts';
import { worded } from './driver.ts';
import type { Transaction } from './pool.ts';
import type { Vault } from './vault.ts';

const batchRows = 100;
/** Where large values come together, fewer rows are read at once. */
const largeRows = 4;

type Row = { readonly seq: number } & Readonly<Record<string, unknown>>;
type Values = Readonly<Record<string, unknown>>;

/** The columns of each table: what a row is read and bound by, and what of it is rewritten. */
const tables: Readonly<Record<Stage, { key: string; read: string; put: Readonly<Record<string, string>> }>> =
  {
    tasks: {
      key: 'seq',
      read: 'id, owner, tool, idempotency_key as key, body',
      put: { key: 'idempotency_key', body: 'body' },
    },
    commits: {
      key: 'seq',
      read: `coalesce((select id from SCHEMA.tasks t where t.seq = r.task), removed_id) as id, version, events, journal`,
      put: { events: 'events', journal: 'journal' },
    },
    results: {
      key: 'task',
      read: '(select id from SCHEMA.tasks t where t.seq = r.task) as id, value',
      put: { value: 'value' },
    },
    sessions: { key: 'seq', read: 'id, opening', put: { opening: 'opening' } },
    secrets: { key: 'seq', read: 'name as id, value', put: { value: 'value' } },
    audit: { key: 'seq', read: 'at, action, owner, task, said', put: { said: 'said' } },
  };

const rewrites = rewritesOf<string>();

interface Parts {
  readonly vault: Vault;
  readonly schema: string;
  readonly place: string;
}

export class Rewriting {
  readonly #parts: Parts;
  readonly #work: BackgroundWork;

  constructor(parts: Parts) {
    const { vault, place } = parts;
    this.#parts = parts;
    this.#work = new BackgroundWork({
      place,
      failure: `Values in ${place} could not be rewritten`,
      batch: async () => {
        try {
          const progress = await vault.transact((transaction) => this.#batch(transaction));
          if (progress !== 'last') return progress;
          await this.#settle();
          return 'go on';
        } catch (error) {
          throw worded(error, place);
        }
      },
    });
  }

  /** Begins in the background, if it has not begun. */
  start(): void {
    this.#work.start();
  }

  /** Resolves once nothing is left to be rewritten. */
  finish(): Promise<void> {
    return this.#work.finish();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #batch(transaction: Transaction): Promise<Progress | 'last'> {
    const { schema, vault } = this.#parts;
    const [at] = await transaction.query<{ stage: Stage | null; position: number }>(
      `select stage, position from ${schema}.encryption for update skip locked`,
    );
    if (!at) return 'busy';
    if (at.stage === null || !vault.sealed) return 'end';
    const next = await this.#rewriteSome(transaction, at.stage, at.position);
    const following = stages[stages.indexOf(at.stage) + 1];
    if (next === undefined && following === undefined) return 'last';
    await transaction.query(`update ${schema}.encryption set stage = $1, position = $2`, [
      next === undefined ? following : at.stage,
      next ?? 0,
    ]);
    return 'rest';
  }

  /** The last row that was looked at; none if there were no more. */
  async #rewriteSome(transaction: Transaction, stage: Stage, after: number): Promise<number | undefined> {
    const { schema, vault } = this.#parts;
    const { key, read, put } = tables[stage];
    const limit = stage === 'results' ? largeRows : batchRows;
    const rows = await transaction.query<Row>(
      `select ${key} as seq, ${read.replaceAll('SCHEMA', schema)} from ${schema}.${stage} r
      where ${key} > $1 order by ${key} limit ${limit} for update of r`,
      [after],
    );
    const changed = rows.flatMap((row): (Values & { seq: number })[] => {
      const values = rewrites[stage](bound(row) as never, vault.sealed!);
      return values ? [{ ...values, seq: row.seq }] : [];
    });
    if (changed.length > 0) {
      const columns = Object.entries(put).map(([name, column]) => `${column} = v.${name}`);
      const type = stage === 'secrets' ? 'bytea' : 'text';
      const names = Object.keys(put);
      const arrays = names.map((_, index) => `$${index + 2}::${type}[]`);
      await transaction.query(
        `update ${schema}.${stage} r set ${columns.join(', ')}
        from unnest($1::bigint[], ${arrays.join(', ')}) as v (seq, ${names.join(', ')}) where r.${key} = v.seq`,
        [changed.map(({ seq }) => seq), ...names.map((name) => changed.map((values) => values[name]))],
      );
    }
    return rows.at(-1)?.seq;
  }

  /** Others may have come this far at the same time. */
  async #settle(): Promise<void> {
    const { vault } = this.#parts;
    await vault.changeManner(async (_, { state }) => {
      const isLast = state.stage === stages.at(-1);
      return isLast ? settled(state, vault.sealed!.cipher!) : undefined;
    });
  }
}

/** The names that a value is bound to, as they were before they were made fit for Postgres. */
function bound(row: Row): unknown {
  const { id, owner, tool, task } = row as Partial<Record<string, string | null>>;
  if (id === undefined) return namedRow({ ...row, owner: owner ?? null, task: task ?? null });
  return {
    ...row,
    id: id === null ? null : named(id),
    ...(owner && { owner: named(owner) }),
    ...(tool && { tool: named(tool) }),
  };
}
