/** Limits on how many tasks there are hold for all servers of a store together. */
import { expect, test } from 'vitest';
import { Peer, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { startReplica } from '../postgres/replica.ts';
import { isPostgres, kinds } from '../stores/kinds.ts';

const servers = 3;
const most = 60;

test.each(
  kinds.flatMap(({ name, place }) =>
    (['liveTasksPerOwner', 'liveTasks', 'storedTasksPerOwner'] as const).map((limit) => ({
      name,
      place,
      limit,
    })),
  ),
)('on $name, servers that are flooded at the same time hold $limit to one task each', async (given) => {
  const place = await given.place();
  const store = isPostgres(place) ? place : `sqlite:${place}`;
  const limits = JSON.stringify({ [given.limit]: most });
  const replicas = await Promise.all(
    Array.from({ length: servers }, () => startReplica('server', store, '--limits', limits)),
  );
  try {
    const calls = replicas.flatMap(({ url }) => {
      const peer = new Peer(url, withTasks);
      const call = () => peer.request('tools/call', { name: 'nap', arguments: { ms: 3_600_000 } });
      return Array.from({ length: most }, call);
    });
    const answers = await Promise.all(calls);
    const made = answers.filter((answer) => answer.result).length;
    const refused = answers.filter(({ error }) => error?.data?.limit === given.limit).length;
    console.log(`${given.name}, ${given.limit}: ${made} of ${most} made, ${refused} refused`);
    expect(made + refused).toBe(calls.length);
    // Of all owners together, one does not get at the last tenth.
    const room = given.limit === 'liveTasks' ? most * 0.9 : most;
    expect(made).toBeGreaterThanOrEqual(room);
    expect(made).toBeLessThan(room + servers);
  } finally {
    await Promise.all(replicas.map((one) => one[Symbol.asyncDispose]()));
  }
});
