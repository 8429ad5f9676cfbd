/** What a test needs outside of its process, until it ends. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';
import type { Program } from './process.ts';

const ends: ((hasFailed: boolean) => unknown)[] = [];
// Programs that tests start share helpers with them, but have no end of a file.
if ('__vitest_worker__' in globalThis)
  afterAll(async () => {
    for (const act of ends.toReversed()) await act(false);
  });

export function atEndOfFile(act: (hasFailed: boolean) => unknown): void {
  ends.push(act);
}

/** Runs at the end of the test or, outside of tests and in `beforeAll`, at the end of the file. */
export function atEnd(act: (hasFailed: boolean) => unknown): void {
  if (!TestRunner.getCurrentTest()) atEndOfFile(act);
  else onTestFinished(async ({ task }) => void (await act(task.result?.state === 'fail')));
}

/** The folder of a test that fails is kept. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-')));
  atEnd((hasFailed) => {
    if (hasFailed) console.log(`The files are left in ${folder}.`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

export function temporaryFile(): string {
  return join(temporaryFolder(), 'tasks.db');
}

/** Kills the process at the end. */
export function untilEnd<P extends Program>(program: P): P {
  atEnd(() => program.kill());
  return program;
}
