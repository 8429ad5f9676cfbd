/**
 * One database for all simulated processes: the SQLite store in memory, with one connection per process. The simulated
 * world knows which processes are alive; in production, locks show that.
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
  readonly listeners: Set<() => void>;
  /** A notification is scheduled. */
  isScheduled: boolean;
  readonly feed: { readonly lateMs: number; readonly repeats: boolean };
}

export class SimDatabase {
  readonly #location = `file:sim-${process.pid}-${++databases}?mode=memory&cache=shared`;
  /** Keeps the database in memory while no process has it open, and reads it from outside. */
  readonly outside: Connection = connect(this.#location);
  readonly #members = new Map<string, Member>();
  readonly #everyone = new Map<string, SimProcess>();
  #opened = 0;

  constructor() {
    this.outside.exec('begin');
    migrate(this.outside, place);
    this.outside.exec('commit');
  }

  /** `feed` sets the delay of changes from other processes, and whether they arrive twice. */
  open(member: SimProcess, feed = { lateMs: 0, repeats: false }): Database {
    const db = connect(this.#location);
    const name = `${member.name}.${++this.#opened}~${databases}`;
    const listeners = new Set<() => void>();
    this.#members.set(name, { process: member, listeners, feed, isScheduled: false });
    this.#everyone.set(name, member);
    const leave = () => this.#members.delete(name);
    member.atDeath.push(() => {
      leave();
      // Not at once: a statement may be in progress.
      member.world.outside.setTimer(() => db.isOpen && db.close(), 1);
    });
    const instance: Instance = {
      ...soleInstance(),
      name,
      isAlive: (other) => this.#members.has(other),
      others: () => [...this.#members.keys()].filter((other) => other !== name),
      mark: () => this.#notifyOthers(name),
      leave,
    };
    const database = joinSqlite({
      db,
      place,
      instance,
      clock: systemClock,
      watch: (onWrite) => {
        listeners.add(onWrite);
        return () => listeners.delete(onWrite);
      },
    });
    const { store } = database;
    const { subscribe } = store;
    store.subscribe = (listener) =>
      subscribe.call(store, (change) => {
        listener(change);
        if (feed.repeats) member.receive(() => listener(change), member.random.between(1, 500));
      });
    return database;
  }

  /** The process that has, or had, this name in the store. */
  processOf(name: string): SimProcess | undefined {
    return this.#everyone.get(name);
  }

  /** True if the process has neither died nor closed its store, so it may still run its tasks. */
  isOpen(name: string): boolean {
    return this.#members.has(name);
  }

  close(): void {
    this.outside.close();
  }

  /** Notifies other processes of a commit after a delay. */
  #notifyOthers(writer: string): void {
    for (const [name, member] of this.#members) {
      if (name === writer || member.isScheduled) continue;
      const { process, listeners, feed } = member;
      member.isScheduled = true;
      process.receive(() => {
        member.isScheduled = false;
        for (const listener of listeners) listener();
      }, feed.lateMs + process.random.between(1, 20));
    }
  }
}
