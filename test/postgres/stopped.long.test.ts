import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Peer, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { freshDatabase } from './database.ts';
import { startReplica } from './replica.ts';

test('a worker that is stopped until its lease has run out, and continued, cannot commit what it goes on with', async () => {
  const database = await freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const file = join(folder, 'ledger');
  const lines = async () => {
    const text = await readFile(file, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  };
  {
    await using server = await startReplica('server', database.url);
    await using stopped = await startReplica('worker', database.url);
    const peer = new Peer(server.url, withTasks);
    const taskId = await peer.start('ledger', { file, steps: 30, delayMs: 200 });
    while ((await lines()).length < 3) await pause(20);
    await using other = await startReplica('worker', database.url);
    stopped.kill('SIGSTOP');
    const since = performance.now();
    while (!(await lines()).at(-1)?.endsWith(` ${other.pid}`)) await pause(20);
    console.log(`Taken over after ${Math.round(performance.now() - since)} ms.`);
    stopped.kill('SIGCONT');
    await peer.until(taskId, 'completed');
    const steps = (await lines()).map((line) => line.split(' ')[0]);
    expect(new Set(steps).size).toBe(30);
    // The step that was cut short, and the one that the continued worker was about to begin.
    expect(steps.length).toBeLessThanOrEqual(32);
  }
  await rm(folder, { recursive: true });
  await database.remove();
}, 120_000);
