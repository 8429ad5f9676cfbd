import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createTasks } from 'holdfast';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { grownTools, node, start } from './grown-tools.ts';

const trees = 60;

test('S2268-05 S2268-14: a tree that another process removes while it is read is there with all its links, or not at all', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'tasks.db');
  await using tasks = createTasks({ store: () => openSqlite(file), tools: grownTools });
  await tasks.work();
  const plan = node('a', [start(node('b')), start(node('c')), start(node('d'))]);
  const roots = await Promise.all(Array.from({ length: trees }, () => tasks.create('grow', { plan })));
  await Promise.all(roots.map(({ id }) => tasks.outcome(id)));
  const requests = await tasks.requests();
  const program = fileURLToPath(new URL('./remover.ts', import.meta.url));
  const remover = fork(program, [file], { execArgv: ['--conditions=holdfast-source'] });
  const exited = once(remover, 'exit');
  try {
    await once(remover, 'message');
    for (const { id } of roots) {
      remover.send(id);
      // Without a pause, so that many a removal falls between two looks into the store.
      for (let looks = 0; ; looks++) {
        const tree = await requests.linked(id);
        if (!tree) break;
        expect(tree.links!.childIds).toHaveLength(3);
        if (looks % 50 === 0) await turn();
      }
    }
  } finally {
    remover.kill();
    await exited;
  }
});
