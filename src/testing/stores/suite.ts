/** What the suites of the ports share: a place to open, and a fresh one for each test. */
import type { Database } from '../../ports/queue.ts';
import { ManualClock } from '../manual-clock.ts';
import { StoreCommands } from './store-commands.ts';

/** How a test runner takes a test: `test` of Vitest, Jest or `node:test`. */
export type TestFunction = (title: string, run: () => Promise<void>) => unknown;

/** A fresh, empty place for tasks, and how to open it. */
export interface Place {
  /** Opens the place; a second call opens it again beside the first, as another process would. */
  open(clock: ManualClock): Promise<Database>;
  remove(): Promise<void>;
}

export interface SuiteOptions {
  readonly test: TestFunction;
  /** Makes a place for one test. */
  readonly place: () => Promise<Place>;
  /** Why the place can be opened only once; tests of several processes are then left out. */
  readonly notShared?: string;
}

/** What a test of a port is given: a database, and the commands to fill it with. */
export interface Bench extends Database {
  readonly clock: ManualClock;
  readonly tasks: StoreCommands;
  /** The same place, opened once more. */
  again(): Promise<Bench>;
}

type Check = (title: string, run: (bench: Bench) => Promise<void>) => void;

/** `check` runs a test in a place of its own; `checkShared` only where several processes can meet. */
export function checks({ test, place, notShared }: SuiteOptions): { check: Check; checkShared: Check } {
  const check: Check = (title, run) => {
    test(title, async () => {
      const clock = new ManualClock();
      const here = await place();
      const opened: Database[] = [];
      const again = async (): Promise<Bench> => {
        const database = await here.open(clock);
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
        await here.remove();
      }
    });
  };
  return { check, checkShared: notShared === undefined ? check : () => {} };
}
