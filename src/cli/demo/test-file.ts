/** One file of tests, run by Node's own test runner. */
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';

export interface TestsOfFile {
  readonly passed: number;
  readonly failed: number;
  /** The names of those that failed, or what kept the file from being run. */
  readonly failures: readonly string[];
}

const patienceMs = 120_000;

export function runTestFile(file: string, signal: AbortSignal): Promise<TestsOfFile> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env; // Or the runner takes itself for a part of another one.
  const args = ['--test', '--test-reporter=tap', asGlob(file)];
  const options = { cwd: dirname(file), env, signal, timeout: patienceMs, maxBuffer: 64 * 2 ** 20 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, output) => {
      if (signal.aborted) return reject(signal.reason);
      const passed = countOf('pass', output);
      const failed = countOf('fail', output);
      if (passed !== undefined && failed !== undefined)
        return resolve({ passed, failed, failures: failuresOf(output) });
      const problem = error?.killed ? `it took longer than ${patienceMs / 1_000} s` : 'it could not be run';
      resolve({ passed: 0, failed: 1, failures: [problem] });
    });
  });
}

/** The runner takes names of files for patterns. */
function asGlob(file: string): string {
  return file.replace(/[[*?{(]/g, '[$&]');
}

function countOf(what: string, tap: string): number | undefined {
  const [, count] = new RegExp(`^# ${what} (\\d+)$`, 'm').exec(tap) ?? [];
  return count === undefined ? undefined : Number(count);
}

function failuresOf(tap: string): string[] {
  return [...tap.matchAll(/^\s*not ok \d+ - (.*)$/gm)].map(([, name]) => name!).slice(0, 10);
}
