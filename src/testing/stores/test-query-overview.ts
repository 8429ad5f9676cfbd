/** Tests of overviews: live tasks, finished tasks by time, durations, and the oldest ready task. */
import assert from 'node:assert/strict';
import type { checks } from './suite.ts';

export function testOverview({ check }: ReturnType<typeof checks>): void {
  check('an overview counts live and finished tasks', async ({ queries, clock, tasks }) => {
    const since = clock.now();
    for (const how of ['queued', 'running', 'waiting', 'waiting'] as const)
      await tasks.withStatus(how, { tool: 'print' });
    const { claim } = await tasks.claimed({ tool: 'collect' });
    await tasks.startChild(claim);
    for (const how of ['completed', 'completed', 'failed', 'cancelled', 'lost'] as const)
      await tasks.withStatus(how, { tool: 'scan' });
    const overview = await queries.overview({ since, until: since + 10_000, buckets: 2 });
    assert.deepEqual(overview.live, { queued: 1, running: 2, waiting: 2 });
    const ended = { completed: 2, failed: 1, cancelled: 1, lost: 1, medianMs: 0, p95Ms: 0 };
    const none = { completed: 0, failed: 0, cancelled: 0, lost: 0, medianMs: null, p95Ms: null };
    assert.deepEqual(overview.ended, ended);
    assert.deepEqual(overview.buckets, [ended, none]);
    assert.deepEqual(overview.tools, [
      { tool: 'scan', queued: 0, running: 0, waiting: 0, ...ended },
      { tool: 'print', queued: 1, running: 1, waiting: 2, ...none },
      { tool: 'collect', queued: 0, running: 1, waiting: 0, ...none },
    ]);
  });

  check('a finished task is counted in the bucket of its end', async ({ queries, clock, tasks }) => {
    const since = clock.now();
    for (let n = 0; n < 4; n++) {
      await tasks.withStatus('completed');
      clock.advance(2_500);
    }
    await tasks.withStatus('failed');
    const counts = async (until: number, buckets: number) => {
      const overview = await queries.overview({ since, until, buckets });
      return overview.buckets.map(({ completed, failed }) => completed + failed);
    };
    assert.deepEqual(await counts(since + 10_000, 2), [2, 2]);
    assert.deepEqual(await counts(since + 10_002, 2), [3, 2]);
    assert.deepEqual(await counts(since + 2_500, 1), [1]);
    // An hour later finished buckets may be cached: the second round must return the same, also with other buckets.
    clock.advance(3_600_000);
    for (let read = 0; read < 2; read++) {
      assert.deepEqual(await counts(since + 10_000, 2), [2, 2]);
      assert.deepEqual(await counts(since + 10_000, 4), [1, 1, 1, 1]);
      assert.deepEqual(await counts(since + 10_000_000, 2), [5, 0]);
    }
    await tasks.withStatus('completed');
    assert.deepEqual(await counts(since + 10_000_000, 2), [6, 0]);
  });

  check('tools with any name are counted', async ({ queries, clock, tasks }) => {
    const since = clock.now();
    const names = [
      'scan',
      'scan, then print',
      ',',
      'scan:4 5',
      'überprüfen',
      '印刷',
      '\uFEFFscan',
      'Aa',
      'BB',
    ];
    for (const tool of names)
      for (const how of ['completed', 'lost'] as const) await tasks.withStatus(how, { tool });
    const { tools, ended } = await queries.overview({ since, until: since + 1_000, buckets: 3 });
    assert.deepEqual(tools.map(({ tool }) => tool).sort(), names.toSorted());
    for (const { completed, failed, cancelled, lost } of tools)
      assert.deepEqual([completed, failed, cancelled, lost], [1, 0, 0, 1]);
    assert.deepEqual([ended.completed, ended.lost], [names.length, names.length]);
  });

  check('durations are accurate to a few per cent', async ({ queries, clock, tasks }) => {
    const since = clock.now();
    for (let n = 1; n <= 20; n++) {
      const { claim } = await tasks.claimed();
      clock.advance(n * 100);
      await tasks.complete(claim);
    }
    const { ended } = await queries.overview({ since, until: clock.now() + 1, buckets: 3 });
    assert.equal(ended.completed, 20);
    assert.ok(Math.abs(ended.medianMs! - 1_000) < 50, `the median is ${ended.medianMs}`);
    assert.ok(Math.abs(ended.p95Ms! - 1_900) < 90, `95 % is ${ended.p95Ms}`);
  });

  check('it contains the time since when the oldest task is ready', async ({ queries, clock, tasks }) => {
    const readySince = async (owner?: string) => {
      const query = { since: clock.now() - 1, until: clock.now(), buckets: 1 };
      return (await queries.overview({ ...query, ...(owner !== undefined && { owner }) })).readySince;
    };
    assert.equal(await readySince(), null);
    const { claim } = await tasks.claimed();
    assert.equal(await readySince(), null);
    clock.advance(1_000);
    const began = clock.now();
    await tasks.withStatus('queued', { tool: 'print', owner: 'bob' });
    clock.advance(1_000);
    await tasks.withStatus('queued');
    assert.equal(await readySince(), began);
    assert.equal(await readySince('alice'), began + 1_000);
    assert.equal(await readySince('carol'), null);
    await tasks.release(claim);
    assert.ok((await readySince())! <= began, `${claim.taskId} was released`);
  });
}
