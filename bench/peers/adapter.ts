/** What the comparison needs from a system that runs workflows. Each system has one file that provides it. */

/** One that does nothing, or five steps that each store `stepValue`. */
export type Workflow = 'nothing' | 'fiveSteps';

export interface Setting {
  /** The URL of an empty Postgres database, the path of an SQLite file, or where the server of Restate listens. */
  readonly location: string;
  /** Whether workflows run in this process. */
  readonly isWorker: boolean;
  /** Whether this process starts workflows. */
  readonly isStarter: boolean;
  /** Workflows at the same time; by default what the system does by default. */
  readonly concurrency?: number;
  /** To be called when a workflow begins, with the number that it was started with, and when it returns. */
  began(n: number): void;
  returned(): void;
}

export interface Peer {
  /** Starts a workflow. Returns the system's own way to wait for its end. */
  start(workflow: Workflow, n: number): Promise<() => PromiseLike<unknown>>;
  /** How many workflows have finished. For systems whose own wait only polls: it would hide their throughput. */
  finished?(): Promise<number>;
  /** How many to start before the first has ended, if that is limited. */
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
