/** Runs statements that take long in a thread, on a connection of its own, so that the event loop is not blocked. */
import { Worker } from 'node:worker_threads';

/** Plain JavaScript in a string, because a file of its own would have another name once it is built. */
const program = `
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const { file, timeout, statements } = workerData;
  const db = new DatabaseSync(file, { timeout });
  try {
    let row;
    for (const sql of statements) row = db.prepare(sql).get();
    parentPort.postMessage({ row: row && { ...row } });
  } catch (error) {
    parentPort.postMessage({ message: error.message, errcode: error.errcode });
  } finally {
    db.close();
  }
`;

interface Answer {
  readonly row?: unknown;
  readonly message?: string;
  readonly errcode?: number;
}

/** The first row of the last statement. Each statement waits up to `timeout` milliseconds for locks of others. */
export async function runInThread(
  file: string,
  timeout: number,
  statements: readonly string[],
): Promise<unknown> {
  const worker = new Worker(program, {
    eval: true,
    workerData: { file, timeout, statements },
    execArgv: [],
  });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  worker.once('message', resolve);
  worker.once('error', reject);
  const ended = new Promise((end) => worker.once('exit', end));
  ended.then(() => reject(new Error('the thread ended early')));
  const { row, message, errcode } = await promise;
  await ended;
  if (message !== undefined) throw Object.assign(new Error(message), { errcode });
  return row;
}
