/** An open store keeps no process alive; one that is being closed does, until it is. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from './database.ts';

test.each([
  ['is closed while a process has nothing else to do', 'await database.close();'],
  ['is left open', ''],
])('a process comes to its end if its store %s', { timeout: 60_000 }, async (_, last) => {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  const script = `
    import { openPostgres } from ${JSON.stringify(new URL('../../src/postgres.ts', import.meta.url).href)};
    const database = await openPostgres(${JSON.stringify(url)});
    await database.survey.list({ limit: 1 });
    ${last}
    console.log('done');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    timeout: 50_000,
  });
  expect(stdout).toBe('done\n');
});
