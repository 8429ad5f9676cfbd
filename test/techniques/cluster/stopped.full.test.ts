/** A worker that was stopped for longer than its heartbeat and goes on: it may do what it likes, and commits nothing. */
import { afterAll, describe, test } from 'vitest';
import { checkHistory } from '../../../scripts/chaos/cluster/check-history.ts';
import { told } from '../../../scripts/chaos/problem.ts';
import { freshDatabase } from '../../postgres/database.ts';
import { leaseMs, stopAndGoOn } from './stopped-worker.ts';

const databases: Awaited<ReturnType<typeof freshDatabase>>[] = [];
afterAll(() => Promise.all(databases.map((database) => database.remove())));

const stores = [
  ['SQLite', async () => undefined],
  [
    'Postgres',
    async () => {
      const database = await freshDatabase();
      databases.push(database);
      return database.url;
    },
  ],
] as const;

// They wait more than they work.
describe.concurrent.each(stores)('on %s', { timeout: 600_000 }, (_, store) => {
  test('a worker that was stopped past its heartbeat and continued cannot commit, and says so in its log', async ({
    expect,
  }) => {
    const { history, stopped, log } = await stopAndGoOn(await store());
    expect(problems({ history })).toEqual([]);
    expect(log).toContain('superseded');
    // It did the step to its end, in vain.
    const did = history.filter((entry) => entry.what === 'did' && entry.step === 'haul');
    expect(did.map((entry) => entry.what === 'did' && entry.process)).toContain(stopped);
    expect(did).toHaveLength(2);
  });

  test('the checker notices a build whose fencing is off', async ({ expect }) => {
    const aftermath = await stopAndGoOn(await store(), import.meta.resolve('./unfenced.ts'));
    const found = problems(aftermath).join('\n');
    console.log(found);
    expect(found).toMatch(
      // Which of its rules is broken first depends on who is faster.
      new RegExp(
        `haul was committed 2 times|haul was committed by pass .*, and ran again|${aftermath.stopped} committed haul under the claim of pass`,
      ),
    );
  });
});

/** Other tests share the machine; `chaos.long.test.ts` asserts how soon tasks are taken over. */
const anyTime = { killed: Infinity, stopped: Infinity };

function problems({ history }: { history: Parameters<typeof checkHistory>[0] }): string[] {
  return checkHistory(history, anyTime, leaseMs).problems.map(told);
}
