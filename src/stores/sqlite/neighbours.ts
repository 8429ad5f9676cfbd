/**
 * A second opinion on what an index does not find. When a page of an index was overwritten with another page of its
 * kind, SQLite reports nothing: the entries that were there are simply not found. But
 *
 *   - such a page contradicts the place to which its entries really belong: there is nothing between two neighbours
 *     only if each of them, looked up on its own, is found next to the other;
 *   - where a whole branch is gone, few tasks are still found by way of the index. A handful is tried now and then.
 *
 * To be asked inside a transaction, or others may come between the neighbours.
 */
import { type Connection, Damaged } from './driver.ts';

/** How many tasks are tried, and for how long that is good enough. */
const sampleSize = 64;
const sampleMs = 1_000;

interface Index<Place> {
  /** The last entry before a place, and the first one after it. */
  before(place: Place): Place | undefined;
  after(place: Place): Place | undefined;
  isSame(one: Place | undefined, other: Place | undefined): boolean;
}

interface IdPlace {
  readonly id: string;
}

interface ListPlace {
  readonly owner: string;
  readonly seq: number;
}

export class Neighbours {
  readonly #ids: Index<IdPlace>;
  readonly #lists: Index<ListPlace>;
  readonly #range: ReturnType<Connection['prepare']>;
  readonly #isFound: ReturnType<Connection['prepare']>;
  #sampledAt = -sampleMs;

  constructor(db: Connection) {
    const id = (comparison: '<' | '>', order: string) => {
      const sql = db.prepare(`select id from tasks where id ${comparison} ? order by id ${order} limit 1`);
      return ({ id }: IdPlace) => sql.get(id) as IdPlace | undefined;
    };
    this.#ids = { before: id('<', 'desc'), after: id('>', 'asc'), isSame: (a, b) => a?.id === b?.id };

    const root = (condition: string, order: string) =>
      db.prepare(`
        select owner, seq from tasks where ${condition} and parent_id is null
        order by owner ${order}, seq ${order} limit 1`);
    const list = (comparison: '<' | '>', order: string) => {
      const ofOwner = root(`owner = ? and seq ${comparison} ?`, order);
      const ofOthers = root(`owner ${comparison} ?`, order);
      return ({ owner, seq }: ListPlace) =>
        (ofOwner.get(owner, seq) ?? ofOthers.get(owner)) as ListPlace | undefined;
    };
    this.#lists = { before: list('<', 'desc'), after: list('>', 'asc'), isSame: (a, b) => a?.seq === b?.seq };

    this.#range = db.prepare(
      'select (select min(seq) from tasks) as low, (select max(seq) from tasks) as high',
    );
    this.#isFound = db.prepare(`
      select exists (select 1 from tasks as again where again.id = tasks.id) and (parent_id is not null or exists (
        select 1 from tasks as again indexed by tasks_by_owner
        where again.owner = tasks.owner and again.parent_id is null and again.seq = tasks.seq
      )) as found
      from tasks where seq >= ? order by seq limit 1`);
  }

  /** Throws if the task with this id may be there although it was not found. */
  confirmNoTask(id: string): void {
    this.#confirm(this.#ids, this.#ids.before({ id }), this.#ids.after({ id }));
  }

  /** Throws if tasks of the owner may be missing above the first of its list … */
  confirmStartOfList(owner: string, seq: number): void {
    this.#confirm(this.#lists, { owner, seq }, this.#lists.after({ owner, seq }));
  }

  /** … below the last of it … */
  confirmEndOfList(owner: string, seq: number): void {
    this.#confirm(this.#lists, this.#lists.before({ owner, seq }), { owner, seq });
  }

  /** … or if there may be any below a place where none was found. */
  confirmEmptyList(owner: string, seq: number): void {
    this.#confirm(
      this.#lists,
      this.#lists.before({ owner, seq }),
      this.#lists.after({ owner, seq: seq - 1 }),
    );
  }

  #confirm<Place>(
    { before, after, isSame }: Index<Place>,
    low: Place | undefined,
    high: Place | undefined,
  ): void {
    const agree = (!low || isSame(after(low), high)) && (!high || isSame(before(high), low));
    if (!agree || !this.#sampleIsFound()) throw new Damaged('an index has lost entries');
  }

  #sampleIsFound(): boolean {
    if (performance.now() - this.#sampledAt < sampleMs) return true;
    const { low, high } = this.#range.get() as { low: number | null; high: number };
    for (let n = 0; low !== null && n < sampleSize; n++) {
      const row = this.#isFound.get(low + Math.floor(Math.random() * (high - low + 1)));
      if (!row?.found) return false;
    }
    this.#sampledAt = performance.now();
    return true;
  }
}
