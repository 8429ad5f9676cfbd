/**
 * How much there is, kept by whoever changes it, in the same transaction: each writer adds to a row of its own, so that
 * none waits for another. What is counted are the bytes of the texts, and for each row a flat amount that stands for
 * its other columns and its places in indexes; sessions and secrets are too few to count.
 */
import type { Connections, Transaction } from './pool.ts';

/** Part of a migration. */
export const sizeTable = `
  create table sizes (
    writer text collate "C" primary key,
    bytes bigint not null
  ) with (fillfactor = 50);
  insert into sizes (writer, bytes) select '', sum(bytes) from (
    select octet_length(body) + 550 as bytes from tasks
    union all select octet_length(events) + coalesce(octet_length(journal), 0) + 140 from commits
    union all select octet_length(value) + 60 from results
    union all select 0) counted;
`;

/** What a row and its entries in indexes were measured to take besides its texts, after `vacuum full`. */
export const rowBytes = { task: 550, commit: 140, result: 60, entry: 250 } as const;

/** For the end of a statement that inserts writers with what they add. */
export const addToSize = 'on conflict (writer) do update set bytes = sizes.bytes + excluded.bytes';

export class Sizes {
  readonly #connections: Connections;
  readonly #schema: string;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
  }

  async total(): Promise<number> {
    const [row] = await this.#connections.query<{ bytes: number }>({
      name: 'size',
      text: `select coalesce(sum(bytes), 0)::bigint as bytes from ${this.#schema}.sizes`,
    });
    return row!.bytes;
  }

  async add(transaction: Transaction, writer: string, bytes: number): Promise<void> {
    const insert = `insert into ${this.#schema}.sizes (writer, bytes) values ($1, $2) ${addToSize}`;
    await transaction.query({ name: 'grow', text: insert }, [writer, bytes]);
  }

  /** Makes one row of those of writers that are gone. The others have their turns in theirs (`turns.ts`). */
  async fold(): Promise<void> {
    await this.#connections.transact(async (transaction) => {
      const rows = await transaction.query<{ bytes: number }>(
        `delete from ${this.#schema}.sizes
        where writer <> '' and split_part(writer, '/', 1) not in (select name from ${this.#schema}.processes)
        returning bytes`,
      );
      if (rows.length > 0)
        await this.add(
          transaction,
          '',
          rows.reduce((sum, { bytes }) => sum + bytes, 0),
        );
    });
  }
}

/** Those of a text in the database. */
export function bytesOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}
