/** What a test needs outside of its process, until it ends. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished } from 'vitest';
import type { Program } from './process.ts';

/** Runs at the end of the test, or of the file when it is called while tests are collected. */
export function atEnd(act: (hasFailed: boolean) => unknown): void {
  if (expect.getState().currentTestName === undefined) afterAll(async () => void (await act(false)));
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

/** A path for a database in a folder of its own. */
export function temporaryFile(): string {
  return join(temporaryFolder(), 'tasks.db');
}

/** Kills the process at the end. */
export function untilEnd<P extends Program>(program: P): P {
  atEnd(() => program.kill());
  return program;
}
