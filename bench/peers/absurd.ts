/** The SQL that installs absurd is not in its npm package: the path of a copy is in ABSURD_SQL. */
import { readFileSync } from 'node:fs';
import { Absurd } from 'absurd-sdk';
import pg from 'pg';
import { type Peer, type Setting, steps, stepValue } from './adapter.ts';

const queueName = 'bench';

export async function open(setting: Setting): Promise<Peer> {
  const { location, isWorker, isStarter, concurrency, began, returned } = setting;
  const pool = new pg.Pool({ connectionString: location });
  const absurd = new Absurd({ db: pool, queueName });
  // The process that starts workflows is opened first.
  const { rows } = await pool.query(`select to_regnamespace('absurd') is not null as exists`);
  if (isStarter && !rows[0].exists) {
    await pool.query(readFileSync(process.env.ABSURD_SQL!, 'utf8'));
    await absurd.createQueue();
  }
  absurd.registerTask<{ n: number }>({ name: 'nothing' }, async ({ n }) => {
    began(n);
    returned();
  });
  absurd.registerTask<{ n: number }>({ name: 'fiveSteps' }, async ({ n }, task) => {
    began(n);
    for (const step of steps) await task.step(`step ${step}`, async () => stepValue(step));
    returned();
  });
  const worker = isWorker
    ? await absurd.startWorker(concurrency === undefined ? {} : { concurrency })
    : undefined;
  return {
    async start(workflow, n) {
      const { taskID } = await absurd.spawn(workflow, { n });
      return () => absurd.awaitTaskResult(taskID);
    },
    async finished() {
      const { rows } = await pool.query(
        `select count(*) from absurd.t_${queueName} where state = 'completed'`,
      );
      return Number(rows[0].count);
    },
    async close() {
      await worker?.close();
      await pool.end();
    },
  };
}
