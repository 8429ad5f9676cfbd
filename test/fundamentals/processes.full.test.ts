/** What a worker does to the process that it runs in. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, ...args: string[]): Promise<Ended> {
  const script = fileURLToPath(new URL(file, import.meta.url));
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--conditions=holdfast-source', '--disable-warning=ExperimentalWarning', script, ...args],
      (_error, stdout, stderr) => {
        resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr });
      },
    );
  });
}

test.each([1, 2])('a rejection of the host program ends it, with %i workers too', async (workers) => {
  const { code, stdout, stderr } = await run('./host-rejection.ts', String(workers));
  expect(code).toBe(1);
  expect(stderr).toContain('a bug of the host program');
  expect(stdout).not.toContain('still alive');
});

test('a blocked event loop is reported while it is blocked, with the tool and the step', async () => {
  const { code, stdout, stderr } = await run('./blocked.ts', 'report', '6000');
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /the event loop has been blocked for \d+\.\d s by the step "numbers" of crunch \(task \w+\)/,
  );
  const report = stdout.split('\n').find((line) => line.startsWith('{'));
  expect(JSON.parse(report!)).toMatchObject({ tool: 'crunch', step: 'numbers', ms: expect.any(Number) });
  expect(stdout).toContain('done');
});

test('the step is also reported while it runs code of Node itself', async () => {
  const { stderr } = await run('./blocked.ts', 'exit', '60000', 'internals');
  expect(stderr).toMatch(/by the step "numbers" of crunch/);
});

test('a loop that native code blocks is reported without a step', async () => {
  const { code, stderr } = await run('./blocked.ts', 'report', '6000', 'native');
  expect(code).toBe(0);
  expect(stderr).toMatch(/the event loop has been blocked for \d+\.\d s by unknown code/);
});

test('a process that has been blocked for two leases kills itself in the mode `exit`', async () => {
  const { signal, stdout, stderr } = await run('./blocked.ts', 'exit', '60000');
  expect(signal).toBe('SIGKILL');
  expect(stderr).toMatch(/by the step "numbers" of crunch/);
  expect(stderr).toMatch(/process \d+ kills itself/);
  expect(stdout).not.toContain('done');
});
