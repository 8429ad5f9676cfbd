import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A path for a database in a folder of its own, which goes with the test if it passes. */
export function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-chaos-'));
  onTestFinished(({ task }) => {
    if (task.result?.state === 'fail') console.log(`The database is left in ${folder}.`);
    else rmSync(folder, { recursive: true, force: true });
  });
  return join(folder, 'tasks.db');
}
