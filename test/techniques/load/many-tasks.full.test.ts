import { expect, test } from 'vitest';
import { expectManyToLiveAndEnd } from './many-tasks.ts';
import { ServerUnderLoad } from './under-load.ts';

test('10,000 tasks live at the same time and complete, and the process keeps nothing of them', async () => {
  // A pass keeps its place for a tenth of a second after it has begun to wait: with few places that is the limit.
  const server = await ServerUnderLoad.start({ concurrency: 1_000 });
  const rest = await server.atRest();
  const { bytes } = await server.ask('memory');
  await expectManyToLiveAndEnd(server, 10_000);
  await server.isBackAt(rest);
  expect((await server.ask('memory')).bytes).toBeLessThan(2 * bytes);
  expect(server.complaints).toBe('');
});
