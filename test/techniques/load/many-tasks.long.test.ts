import { expect, test } from 'vitest';
import { temporaryFile } from '../../kit/lifetime.ts';
import { expectManyToLiveAndEnd } from './many-tasks.ts';
import { ServerUnderLoad } from './under-load.ts';

test('10,000 tasks in a file live at the same time and complete, five times over, and the process does not grow', async () => {
  const server = await ServerUnderLoad.start({ store: temporaryFile(), concurrency: 1_000 });
  const rest = await server.atRest();
  const grown: number[] = [];
  for (let round = 0; round < 5; round++) {
    await expectManyToLiveAndEnd(server, 10_000);
    await server.isBackAt(rest);
    grown.push((await server.ask('memory')).bytes);
  }
  expect(grown.at(-1)).toBeLessThan(1.3 * grown[0]!);
  expect(server.complaints).toBe('');
});
