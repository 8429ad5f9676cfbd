/**
 * One database for all simulated processes: the SQLite store, in memory, each process with a connection of its own.
 * Who is alive is known to the world, where in production locks tell it.
 */
import type { Database } from '../src/engine/queue.ts';
import { systemClock } from '../src/model/clock.ts';
import { type Connection, connect } from '../src/stores/sqlite/driver.ts';
import type { Instance } from '../src/stores/sqlite/instances.ts';
import { joinSqlite } from '../src/stores/sqlite/open.ts';
import type { SimProcess } from './world.ts';

let databases = 0;

export class SimDatabase {
  readonly #location = `file:sim-${process.pid}-${++databases}?mode=memory&cache=shared`;
  /** Keeps the database while no process has it open, and looks at it from outside. */
  readonly outside: Connection = connect(this.#location);
  readonly #members = new Map<string, { readonly process: SimProcess; readonly heard: Set<() => void> }>();
  #opened = 0;

  open(member: SimProcess): Database {
    const db = connect(this.#location);
    const name = `${member.name}.${++this.#opened}~${databases}`;
    const heard = new Set<() => void>();
    this.#members.set(name, { process: member, heard });
    const leave = () => this.#members.delete(name);
    member.atDeath.push(() => {
      leave();
      db.close();
    });
    const alive = (other: string) => this.#members.has(other);
    const instance: Instance = {
      name,
      isAlive: alive,
      others: () => [...this.#members.keys()].filter((other) => other !== name),
      mark: () => this.#tellOthers(name),
      highestMark: () => 0,
      dead: () => [],
      buryDead: () => {},
      startMaking: () => {},
      isBeingMade: () => true,
      finishMaking: () => {},
      leave,
    };
    return joinSqlite({
      db,
      place: 'the simulated database',
      instance,
      clock: systemClock,
      watch: (onWrite) => {
        heard.add(onWrite);
        return () => heard.delete(onWrite);
      },
    });
  }

  close(): void {
    this.outside.close();
  }

  /** Other processes notice a commit after a while. */
  #tellOthers(writer: string): void {
    for (const [name, { process, heard }] of this.#members)
      if (name !== writer) for (const tell of heard) process.receive(tell, process.random.between(1, 20));
  }
}
