/** A process that has an encrypted store open, and does what it is told, one command a line. */
import { createTasks, type Outcome, type Task, type TaskId } from '../../src/index.ts';
import { openPostgres } from '../../src/postgres.ts';
import { openSqlite, type RekeyReport, type SqliteDatabase } from '../../src/sqlite.ts';
import { obey } from '../kit/child.ts';
import { until } from '../kit/until.ts';
import { encryption } from './keys.ts';
import { secretIn } from './secrets.ts';
import { tools } from './tools.ts';

export interface HostOptions {
  /** Or the URL of a Postgres. */
  readonly file: string;
  /** Ids of keys, the last of them the current one; none for a plain file. */
  readonly keys: readonly string[];
  readonly current?: string | null;
}

const { file, keys, current }: HostOptions = JSON.parse(process.argv[2]!);
const given = { ...encryption(...keys), ...(current !== undefined && { current }) };
const options = keys.length > 0 ? { encryption: given } : {};

let database: Omit<SqliteDatabase, 'backup'> & Partial<SqliteDatabase>;
let tasks: ReturnType<typeof createTasks>;

const commands = {
  async open(): Promise<void> {
    database = await (file.startsWith('postgres') ? openPostgres : openSqlite)(file, options);
    tasks = createTasks({ store: database, tools });
  },

  async work(): Promise<void> {
    await tasks.work({ concurrency: 8 });
  },

  async close(): Promise<void> {
    await tasks.close();
    await database.close();
  },

  rekey(): Promise<RekeyReport> {
    return database.rekey();
  },

  async backup(target: string): Promise<void> {
    await database.backup!(target);
  },

  /** Says every secret but the answer: the task waits for it. */
  async confide(): Promise<TaskId> {
    await database.sessions.save({
      id: 'a session',
      owner: 'alice',
      opening: { clientInfo: { name: secretIn('session opening'), version: '1' } },
      seenAt: Date.now(),
    });
    await database.secrets.get('states');
    const ended = await Promise.all(['boast', 'stumble', 'refuse'].map((name) => tasks.create(name)));
    const waiting = await tasks.create('wait');
    await tasks.cancel(waiting.id, secretIn('cancel reason'));
    const id = await commands.again();
    await tasks.sendEvent(id, secretIn('event name'), { value: secretIn('event value') });
    for (const one of ended) await tasks.outcome(one.id);
    await untilWaiting(id);
    return id;
  },

  /** The task that the key stands for. */
  async again(): Promise<TaskId> {
    const input = { text: secretIn('argument'), deep: [{ text: secretIn('nested argument') }] };
    return (await tasks.create('confide', input, { idempotencyKey: secretIn('idempotency key') })).id;
  },

  async answer(id: TaskId): Promise<Outcome> {
    await untilWaiting(id);
    await tasks.answer(id, {
      [secretIn('question key')]: { action: 'accept', content: { code: secretIn('answer') } },
    });
    return tasks.outcome(id);
  },

  async count(howMany: number, steps: number, pauseMs: number): Promise<TaskId[]> {
    const make = async () => (await tasks.create('count', { steps, pauseMs })).id;
    return Promise.all(Array.from({ length: howMany }, make));
  },

  async outcomes(ids: TaskId[]): Promise<Outcome[]> {
    return Promise.all(ids.map((id) => tasks.outcome(id)));
  },

  async get(id: TaskId): Promise<Task | undefined> {
    return tasks.get(id);
  },
};

export type Commands = typeof commands;

function untilWaiting(id: TaskId): Promise<void> {
  return until(async () => (await tasks.get(id))?.phase === 'waiting');
}

if (process.argv[1] === import.meta.filename) obey(commands);
