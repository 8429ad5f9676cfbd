/** A job queue without steps. It has no way to wait for the end of a job, so the job is read every 5 ms. */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import type { Peer, Setting } from './adapter.ts';

const queue = 'nothing';

export async function open({ location, isWorker, concurrency, began, returned }: Setting): Promise<Peer> {
  const boss = new PgBoss(location);
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(queue);
  const run = async (jobs: readonly { readonly data: { readonly n: number } }[]) => {
    for (const { data } of jobs) {
      began(data.n);
      returned();
    }
  };
  // By default a worker fetches one job every two seconds. For throughput it uses the fastest setting.
  const fast = { batchSize: concurrency ?? 1, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
  if (isWorker) await boss.work<{ n: number }>(queue, concurrency === undefined ? {} : fast, run);
  const pool = new pg.Pool({ connectionString: location, max: 1 });
  return {
    async start(workflow, n) {
      if (workflow !== queue) throw new Error('pg-boss has no steps.');
      const id = (await boss.send(queue, { n }))!;
      return async () => {
        while ((await boss.findJobs(queue, { id }))[0]?.state !== 'completed') await pause(5);
      };
    },
    async finished() {
      const { rows } = await pool.query(`select count(*) from pgboss.job where state = 'completed'`);
      return Number(rows[0].count);
    },
    async close() {
      await pool.end();
      await boss.stop({ graceful: false });
    },
  };
}
