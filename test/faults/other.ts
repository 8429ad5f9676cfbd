/** The test's end of another process that shares its database. */
import { isDeepStrictEqual } from 'node:util';
import { onTestFinished } from 'vitest';
import type { Store } from '../../src/engine/store.ts';
import { StoreCorrupt } from '../../src/engine/store-errors.ts';
import type { Task, TaskId } from '../../src/model/task.ts';
import { Child } from '../chaos/child.ts';
import type { Acts } from './other-process.ts';

/** The last acknowledged state of a task, and the length of its journal then. */
export interface Acknowledged {
  readonly task: Task;
  readonly entries: number;
}

export interface Order {
  readonly number: number;
  readonly act: keyof Acts;
  readonly args: readonly unknown[];
}

export interface Said {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: { readonly name: string; readonly message: string };
}

export class Other {
  readonly acknowledged = new Map<TaskId, Acknowledged>();
  readonly #child: Child<Said | { readonly acknowledged: Acknowledged }>;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #orders = 0;

  constructor(file: string) {
    this.#child = new Child('../faults/other-process.ts', { file }, (line) => {
      if ('acknowledged' in line) this.acknowledged.set(line.acknowledged.task.id, line.acknowledged);
      else if (line.error) this.#answer(line.number).reject(Object.assign(new Error(), line.error));
      else this.#answer(line.number).resolve(line.value);
    });
    this.#child.exit.then(({ signal, code }) => {
      const gone = new Error(`The other process ended (${signal ?? code}). ${this.#child.complaints}`);
      for (const { reject } of this.#waiting.values()) reject(gone);
    });
    onTestFinished(async () => void (await this.kill()));
  }

  do<A extends keyof Acts>(act: A, ...args: Parameters<Acts[A]>): Promise<Awaited<ReturnType<Acts[A]>>> {
    const number = this.#orders++;
    const answer = Promise.withResolvers<unknown>();
    answer.promise.catch(() => {}); // Whoever waits for it hears of it; nobody need.
    this.#waiting.set(number, answer);
    const order: Order = { number, act, args };
    this.#child.tell(order);
    return answer.promise as Promise<Awaited<ReturnType<Acts[A]>>>;
  }

  /** SIGKILL, and everything it said before is heard. */
  async kill(): Promise<void> {
    await this.#child.kill();
  }

  /** Resolves when the process has ended by itself. */
  async end(): Promise<NodeJS.Signals | null> {
    return (await this.#child.exit).signal;
  }

  #answer(number: number): PromiseWithResolvers<unknown> {
    const answer = this.#waiting.get(number)!;
    this.#waiting.delete(number);
    return answer;
  }
}

export interface Findings {
  /** Tasks that are not as they were acknowledged, although nothing was reported. */
  readonly lost: readonly TaskId[];
  /** Tasks that could not be read because the store reported damage. */
  readonly reported: readonly TaskId[];
}

/** Reads everything that was acknowledged. */
export async function lookFor(
  acknowledged: ReadonlyMap<TaskId, Acknowledged>,
  store: Store,
): Promise<Findings> {
  const lost: TaskId[] = [];
  const reported: TaskId[] = [];
  for (const [id, wanted] of acknowledged) {
    try {
      const [task, journal] = [await store.get(id), await store.journal(id)];
      if (!task || !isAtLeast(task, wanted.task) || journal.length < wanted.entries) lost.push(id);
    } catch (error) {
      if (!(error instanceof StoreCorrupt)) throw error;
      reported.push(id);
    }
  }
  return { lost, reported };
}

/** A later version may have been committed without anyone hearing of it. A renewed lease makes no version. */
function isAtLeast(task: Task, wanted: Task): boolean {
  if (task.version !== wanted.version) return task.version > wanted.version;
  return isDeepStrictEqual(withoutLease(task), withoutLease(wanted));
}

function withoutLease(task: Task): object {
  return 'holder' in task ? { ...task, holder: task.holder?.name } : task;
}
