/** The interface of a system in the comparison. Each system has one file that implements it. */

/** One that does nothing, or five steps that each store `stepValue`. */
export type Workflow = 'nothing' | 'fiveSteps';

export interface Setting {
  /** The URL of an empty Postgres database, the path of an SQLite file, or where the server of Restate listens. */
  readonly location: string;
  /** Whether workflows run in this process. */
  readonly isWorker: boolean;
  /** Whether this process starts workflows. */
  readonly isStarter: boolean;
  /** The maximum number of concurrent workflows; the default is that of the system. */
  readonly concurrency?: number;
  /** Call when a workflow starts, with its number, and when it returns. */
  began(n: number): void;
  returned(): void;
}

export interface Peer {
  /** Starts a workflow. Returns the system's own way to wait for its end. */
  start(workflow: Workflow, n: number): Promise<() => PromiseLike<unknown>>;
  /** The number of finished workflows. For systems whose own wait polls, which would hide their throughput. */
  finished?(): Promise<number>;
  /** The limit on workflows started before the first has ended, if any. */
  readonly inFlight?: number;
  close(): Promise<void>;
}

export interface Adapter {
  open(setting: Setting): Promise<Peer>;
}

/** 80 characters of JSON. */
export function stepValue(step: number) {
  return { step, url: 'https://example.org/reports/tides', found: 12, note: 'checked' };
}

export const steps = [1, 2, 3, 4, 5];
