/** Common code of the test suites for ports: each test gets its own empty database. */
import type { Database } from '../../ports/queue.ts';
import { ManualClock } from '../manual-clock.ts';
import { StoreCommands } from './store-commands.ts';

/** The `test` function of the test runner: of Vitest, Jest or `node:test`. */
export type TestFunction = (title: string, run: () => Promise<void>) => unknown;

/** A new, empty location for a database, for example a temporary file. */
export interface Place {
  /** Opens the database. Called again, it opens the same database a second time, like another process. */
  open(clock: ManualClock): Promise<Database>;
  /** Deletes the location after the test. All databases are closed by then. */
  remove(): Promise<void>;
}

export interface SuiteOptions {
  readonly test: TestFunction;
  /** Creates the location for one test. */
  readonly place: () => Promise<Place>;
  /** If a location can be opened only once: the reason. Tests with several processes are then skipped. */
  readonly notShared?: string;
}

/** A database for one test, with commands to fill it. */
export interface Bench extends Database {
  readonly clock: ManualClock;
  readonly tasks: StoreCommands;
  /** Opens the same database again, like another process. */
  again(): Promise<Bench>;
}

type Check = (title: string, run: (bench: Bench) => Promise<void>) => void;

/** `check` runs a test in its own location. `checkShared` skips the test if a location can be opened only once. */
export function checks({ test, place, notShared }: SuiteOptions): { check: Check; checkShared: Check } {
  const check: Check = (title, run) => {
    test(title, async () => {
      const clock = new ManualClock();
      const location = await place();
      const opened: Database[] = [];
      const again = async (): Promise<Bench> => {
        const database = await location.open(clock);
        opened.push(database);
        const { store, queue, secrets, sessions, calls, audit, queries } = database;
        const ports = { store, queue, secrets, sessions, calls, audit, queries };
        const tasks = new StoreCommands(database, clock);
        return { ...ports, close: () => database.close(), clock, tasks, again };
      };
      try {
        await run(await again());
      } finally {
        for (const database of opened) await database.close();
        await location.remove();
      }
    });
  };
  return { check, checkShared: notShared === undefined ? check : () => {} };
}
