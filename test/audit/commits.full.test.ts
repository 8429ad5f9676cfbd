/** What is committed and what the log says of it come together, or not at all. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createTasks } from 'holdfast';
import { describe, expect, test } from 'vitest';
import { kinds, open } from '../stores/kinds.ts';
import { logOf, story } from './log.ts';

describe.each(kinds)('on $name', ({ place: fresh }) => {
  test.each([
    ['commit: written', 1, []],
    ['commit: durable', 1, ['created by operator']],
    ['commit: written', 2, ['created by operator']],
    ['commit: durable', 2, ['created by operator', 'cancelled by operator']],
  ] as const)(
    'killed with -9 at "%s" of commit %i, the log says what the tasks say',
    async (place, time, log) => {
      const file = await fresh();
      const script = join(import.meta.dirname, 'killed.ts');
      const { signal } = spawnSync(
        process.execPath,
        ['--conditions=holdfast-source', script, file, place, String(time)],
        { stdio: 'inherit' },
      );
      expect(signal).toBe('SIGKILL');

      await using tasks = createTasks({ store: () => open(file) });
      const { tasks: left } = await tasks.list({ owner: 'ada', limit: 10 });
      const entries = await logOf(tasks);
      expect(story(entries)).toEqual(log);
      expect(left.map(({ phase }) => phase)).toEqual(
        log.length === 0 ? [] : [log.length === 1 ? 'queued' : 'done'],
      );
      for (const entry of entries)
        expect(entry).toMatchObject({ owner: 'ada', taskId: left[0]!.id, tool: 'wait' });
    },
  );
});
