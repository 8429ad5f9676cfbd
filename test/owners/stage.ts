/** A server with every draft on, Ada, who has tasks of every kind in every dialect, and Bob, who wants to know of them. */
import type { Task, Tasks } from 'holdfast';
import { staticTokens } from 'holdfast/server';
import { vi } from 'vitest';
import { fixtureFactory, fixtureTasks, storeFrom } from '../fixture/server.ts';
import { serve } from '../kit/serve.ts';
import { RawClient } from '../serving/raw-client.ts';
import { faces, type Place } from './faces.ts';

/** It is in everything that Ada says and is told; nobody else may ever read it. */
export const secret = 'xyzzy';
/** Of the same shape as a real one. */
export const absentId = 'a'.repeat(32);

const token = (name: string) => `token-of-${name}`.padEnd(32, 'x');

export type Stage = Awaited<ReturnType<typeof stage>>;

export async function stage(store = 'memory:') {
  const tasks = fixtureTasks({ store: storeFrom(store), drafts: 'all' });
  await tasks.work({ concurrency: 64, grace: '100ms' });
  const auth = staticTokens({ [token('ada')]: { clientId: 'ada' }, [token('bob')]: { clientId: 'bob' } });
  const { url } = await serve(tasks, { grace: '100ms', auth }, fixtureFactory(tasks));
  const ada = { url, token: token('ada') };
  const planted = await plant(tasks, ada);
  return {
    url,
    tasks,
    ada,
    bob: { url, token: token('bob') },
    planted,
    /** How they stand, as far as anybody but a worker could have changed it. */
    standing: () => Promise.all([...planted.values()].map(async (id) => standing(await tasks.get(id)))),
  };
}

async function plant(tasks: Tasks, { url, token }: Place): Promise<Map<string, string>> {
  const planted = new Map<string, string>();
  const client = new RawClient(url, { token });
  const seen = new Set<string>();
  const unsubscribe = await tasks.subscribe(({ taskId }) => seen.add(taskId));
  const filename = secret;
  const make = async (label: string, tool: string, input: object, ...statuses: string[]) => {
    const { taskId } = (await client.call(tool, input)).result;
    await client.until(taskId, ...statuses);
    planted.set(label, taskId);
    return taskId;
  };
  await make('one that waits', 'confirm_delete', { filename }, 'input_required');
  for (const [dialect, open] of Object.entries(faces)) {
    const face = await open({ url, token });
    const before = new Set(seen);
    const params = { name: 'confirm_delete', arguments: { filename }, ...face.asTask('mine') };
    // In SEP-1686 the answer comes only when the task is done.
    void face.send({ id: 'planting', method: 'tools/call', params }).catch(() => {});
    const id = await until(async () => {
      const made = [...seen].find((one) => !before.has(one));
      return made !== undefined && (await tasks.get(made))?.phase === 'waiting' && made;
    });
    planted.set(`one made in ${dialect}`, id);
  }
  await make('one that is done', 'slow_compute', { seconds: 0, label: secret }, 'completed');
  await make('one with a large result', 'big', { bytes: 400_000 }, 'completed');
  await make('one that failed', 'protocol_error_job', {}, 'failed');
  const cancelled = await make('one that was cancelled', 'nap', { ms: 3_600_000 }, 'working');
  await client.cancel(cancelled);
  const branches = { children: 2, depth: 2, delayMs: 0, ask: true, prefix: secret };
  const root = await make('a root', 'fan_out', branches, 'input_required');
  const requests = await tasks.requests();
  const family = await until(async () => {
    const all = await requests.allLinked(root);
    // Until its leaves ask, the tree goes on changing by itself.
    const leaves = all.filter(({ root: { depth } }) => depth === 2);
    return leaves.length === 4 && leaves.every(({ root: { phase } }) => phase === 'waiting') && all;
  });
  for (const { root: task } of family) if (task.depth > 0) planted.set(`subtask ${task.id}`, task.id);
  // A caller without tasks is asked, and never hears of the task that waits for its answer.
  const before = new Set(seen);
  await new RawClient(url, { token, tasks: false }).call('confirm_delete', { filename });
  const parked = await until(async () => [...seen].find((id) => !before.has(id)) ?? false);
  planted.set('one that was not published', parked);
  unsubscribe();
  return planted;
}

async function until<T>(look: () => Promise<T | false>): Promise<T> {
  return (await vi.waitUntil(look, { timeout: 100_000, interval: 10 })) as T;
}

function standing(task: Task | undefined): unknown {
  if (!task) return 'gone';
  const { id, phase, inputs, liveChildCount } = task;
  return { id, phase, liveChildCount, inputs: inputs.map(({ key, state }) => [key, state]) };
}
