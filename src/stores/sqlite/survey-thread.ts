/**
 * The thread in which a file is surveyed, on a connection of its own that can only read: however much it reads, nobody
 * who is served waits for it. What is long goes out as JSON, because that is read back in portions.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { StoreNotUnlocked } from '../../engine/store-errors.ts';
import type { Survey } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import type { TaskId } from '../../model/task.ts';
import { Damaged, DamagedRecord } from '../values/damaged.ts';
import { InvalidCursor } from '../values/invalid-cursor.ts';
import type { Keys } from '../values/keys.ts';
import { Surveyor } from '../values/surveyor.ts';
import { connect } from './driver.ts';
import { SqliteSurveySource, unhurried } from './survey-source.ts';
import { Vault } from './vault.ts';

export interface ThreadData {
  readonly file: string;
  readonly keys: Keys | undefined;
}

/** `now` is the caller's moment: the thread has no clock of its own. */
export type Asking = {
  [M in keyof Survey]: { readonly method: M; readonly args: Parameters<Survey[M]> };
}[keyof Survey] & { readonly id: number; readonly now: number };

export interface Answer {
  readonly id: number;
  /** Without what is in `parts`. */
  readonly value?: unknown;
  /** Tasks of a page, or commits of a history, each as JSON. */
  readonly parts?: readonly string[];
  readonly failure?: Failure;
}

export interface Failure {
  readonly kind: 'sqlite' | 'damaged' | 'unreadable' | 'locked' | 'cursor' | 'other';
  readonly message: string;
  readonly errcode?: number;
  /** Whose record is damaged, if it is that of one task. */
  readonly taskId?: TaskId;
}

/** More than the moment for which the serving connection waits: here nobody is held up. */
const busyMs = 2_000;

if (parentPort) {
  const { file, keys } = workerData as ThreadData;
  const db = connect(file, { readOnly: true, timeout: busyMs });
  db.exec('pragma cache_size = -16384');
  const cells = new Vault(db, keys, file);
  let now = 0;
  const clock: Clock = { now: () => now, monotonic: () => now, schedule: () => () => {} };
  const surveyor = new Surveyor(new SqliteSurveySource(db, cells, unhurried), { clock });
  const port = parentPort;
  port.on('message', async (asking: Asking) => {
    now = asking.now;
    try {
      port.postMessage({ id: asking.id, ...(await answered(surveyor, asking)) } satisfies Answer);
    } catch (error) {
      port.postMessage({ id: asking.id, failure: failureOf(error) } satisfies Answer);
    }
  });
}

async function answered(surveyor: Surveyor, asking: Asking): Promise<Omit<Answer, 'id'>> {
  switch (asking.method) {
    case 'list': {
      const { tasks, ...value } = await surveyor.list(...asking.args);
      return { value, parts: tasks.map((task) => JSON.stringify(task)) };
    }
    case 'count':
      return { value: await surveyor.count(...asking.args) };
    case 'overview':
      return { value: await surveyor.overview(...asking.args) };
    case 'history': {
      const page = await surveyor.history(...asking.args);
      if (!page) return {};
      const { commits, ...value } = page;
      return { value, parts: commits.map((commit) => JSON.stringify(commit)) };
    }
  }
}

function failureOf(error: unknown): Failure {
  const { message, errcode } = error as { message: string; errcode?: number };
  const kind = kindOf(error);
  const { taskId } = error instanceof DamagedRecord ? error : {};
  return {
    kind,
    message,
    ...(kind === 'sqlite' && { errcode: errcode! }),
    ...(taskId !== undefined && { taskId }),
  };
}

function kindOf(error: unknown): Failure['kind'] {
  if (error instanceof InvalidCursor) return 'cursor';
  if (error instanceof StoreNotUnlocked) return 'locked';
  if (error instanceof Damaged) return 'damaged';
  if (error instanceof SyntaxError) return 'unreadable';
  return typeof (error as { errcode?: unknown }).errcode === 'number' ? 'sqlite' : 'other';
}
