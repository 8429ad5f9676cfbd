/**
 * pg-boss as the dispatcher. A job says that a task could be claimed and that nobody holds it, no more: it is sent by
 * the transaction that made it so, fetched by the one worker that the task is offered to, and deleted by the
 * transaction of its claim. One queue per tool and version, so that no worker fetches what it cannot run.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { PgBoss } from 'pg-boss';
import type { ToolVersion } from '../../engine/queue.ts';
import type { TaskId } from '../../model/task.ts';
import { name, named } from './cells.ts';
import type { Connections, Transaction } from './pool.ts';

export interface Job extends ToolVersion {
  readonly id: string;
  readonly task: TaskId;
}

/** A job that leads nowhere for so long is active in the hands of nobody. */
const activeSeconds = 60;

export class Jobs {
  readonly #boss: PgBoss;
  readonly #connections: Connections;
  readonly #made = new Map<string, Promise<void>>();

  constructor(boss: PgBoss, connections: Connections) {
    this.#boss = boss;
    this.#connections = connections;
  }

  async send(transaction: Transaction, jobs: readonly Job[]): Promise<void> {
    for (const [queue, some] of byQueue(jobs)) {
      await this.#queue(queue);
      const rows = some.map(({ id, task }) => ({ id, data: { task: name(task) } }));
      await this.#boss.insert(queue, rows, { db: within(transaction) });
    }
  }

  async delete(transaction: Transaction, jobs: readonly Job[]): Promise<void> {
    for (const [queue, some] of byQueue(jobs)) {
      await this.#queue(queue);
      const ids = some.map(({ id }) => id);
      await this.#boss.deleteJob(queue, ids, { db: within(transaction) });
    }
  }

  /** Takes up to `limit` jobs out of a queue, for this process alone. */
  async fetch(tool: ToolVersion, limit: number): Promise<Job[]> {
    const queue = queueOf(tool);
    // Where pg-boss does not know the queue yet, it asks on a connection that may be cut.
    const jobs = await this.#connections.repeat(async () => {
      await this.#queue(queue);
      return this.#boss.fetch<{ task: string }>(queue, { batchSize: limit, db: within(this.#connections) });
    });
    return jobs.map(({ id, data }) => ({ ...tool, id, task: named(data.task) }));
  }

  #queue(queue: string): Promise<void> {
    let made = this.#made.get(queue);
    if (!made) {
      made = this.#boss.createQueue(queue, {
        policy: 'standard',
        expireInSeconds: activeSeconds,
        retryLimit: 2_147_483_647,
        retryDelay: 0,
        retryBackoff: false,
        retentionSeconds: 365 * 86_400,
        deleteAfterSeconds: 60,
      });
      this.#made.set(queue, made);
      made.catch(() => this.#made.delete(queue));
    }
    return made;
  }
}

/** The name of a queue, in which pg-boss allows few characters. */
export function queueOf({ tool, version }: ToolVersion): string {
  return `hf/${plain(tool)}/${plain(version)}`;
}

function plain(text: string): string {
  return text.replace(/[^\w-]/g, (found) => `.${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Jobs are fetched in the order in which they were sent, and those of one transaction by their ids. */
export function newJobId(now: number): string {
  count = (count + 1) % 0x1000;
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, '0').slice(-12);
  const rest = randomBytes(8).toString('hex');
  const place = count.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-a${rest.slice(0, 3)}-${rest.slice(3, 15)}`;
}

let count = 0;

function byQueue(jobs: readonly Job[]): Map<string, Job[]> {
  const queues = new Map<string, Job[]>();
  for (const job of jobs) {
    const queue = queueOf(job);
    const some = queues.get(queue);
    if (some) some.push(job);
    else queues.set(queue, [job]);
  }
  return queues;
}

/** What pg-boss is told to run the statements in that come with every task. Under a name they are planned once. */
function within(asked: Pick<Transaction, 'query'>) {
  return {
    executeSql: async (text: string, values: unknown[] = []) => ({
      rows: await asked.query({ name: nameFor(text), text }, values),
    }),
  };
}

const names = new Map<string, string>();

function nameFor(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `boss ${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`;
    names.set(text, name);
  }
  return name;
}

/** What pg-boss runs its own statements on. */
export function bossDatabase(connections: Connections) {
  return { executeSql: (text: string, values?: unknown[]) => connections.raw(text, values) };
}
