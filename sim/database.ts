/**
 * One database for all simulated processes: the SQLite store, in memory, each process with a connection of its own.
 * Who is alive is known to the world, where in production locks tell it.
 */
import type { Database } from '../src/ports/queue.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { type Connection, connect } from '../src/stores/sqlite/driver.ts';
import { joinSqlite } from '../src/stores/sqlite/open.ts';
import { type Instance, soleInstance } from '../src/stores/sqlite/queue/process-liveness.ts';
import { migrate } from '../src/stores/sqlite/schema.ts';
import type { SimProcess } from './world.ts';

const place = 'the simulated database';

let databases = 0;

interface Member {
  readonly process: SimProcess;
  readonly heard: Set<() => void>;
  /** It is about to notice. */
  isStirred: boolean;
  readonly feed: { readonly lateMs: number; readonly repeats: boolean };
}

export class SimDatabase {
  readonly #location = `file:sim-${process.pid}-${++databases}?mode=memory&cache=shared`;
  /** Keeps the database while no process has it open, and looks at it from outside. */
  readonly outside: Connection = connect(this.#location);
  readonly #members = new Map<string, Member>();
  readonly #everyone = new Map<string, SimProcess>();
  #opened = 0;

  constructor() {
    this.outside.exec('begin');
    migrate(this.outside, place);
    this.outside.exec('commit');
  }

  /** `feed` says how late the process hears of what others commit, and whether it hears of it twice. */
  open(member: SimProcess, feed = { lateMs: 0, repeats: false }): Database {
    const db = connect(this.#location);
    const name = `${member.name}.${++this.#opened}~${databases}`;
    const heard = new Set<() => void>();
    this.#members.set(name, { process: member, heard, feed, isStirred: false });
    this.#everyone.set(name, member);
    const leave = () => this.#members.delete(name);
    member.atDeath.push(() => {
      leave();
      // Not at once: it may be in the middle of something.
      member.world.outside.setTimer(() => db.isOpen && db.close(), 1);
    });
    const instance: Instance = {
      ...soleInstance(),
      name,
      isAlive: (other) => this.#members.has(other),
      others: () => [...this.#members.keys()].filter((other) => other !== name),
      mark: () => this.#tellOthers(name),
      leave,
    };
    const database = joinSqlite({
      db,
      place,
      instance,
      clock: systemClock,
      watch: (onWrite) => {
        heard.add(onWrite);
        return () => heard.delete(onWrite);
      },
    });
    const { store } = database;
    const { subscribe } = store;
    store.subscribe = (listener) =>
      subscribe.call(store, (notice) => {
        listener(notice);
        if (feed.repeats) member.receive(() => listener(notice), member.random.between(1, 500));
      });
    return database;
  }

  /** The process that is, or was, known to others under this name. */
  processOf(name: string): SimProcess | undefined {
    return this.#everyone.get(name);
  }

  /** It has neither died nor closed its store, so it may still work on what it holds. */
  isOpen(name: string): boolean {
    return this.#members.has(name);
  }

  close(): void {
    this.outside.close();
  }

  /** Other processes notice a commit after a while. */
  #tellOthers(writer: string): void {
    for (const [name, member] of this.#members) {
      if (name === writer || member.isStirred) continue;
      const { process, heard, feed } = member;
      member.isStirred = true;
      process.receive(() => {
        member.isStirred = false;
        for (const tell of heard) tell();
      }, feed.lateMs + process.random.between(1, 20));
    }
  }
}
