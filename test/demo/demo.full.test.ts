/** The first ten minutes: the commands of the README with a real `kill -9`, and typical errors. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, temporaryFolder } from '../cli/terminal.ts';
import { freePort } from '../kit/port.ts';
import { checkout, holdfast, servedDemo, typed } from './terminal.ts';

/** A server for tests that do not stop it. */
let server: ReturnType<typeof servedDemo> | undefined;
function shared() {
  server ??= servedDemo();
  return server;
}

test.concurrent('the transcript in the README is what its commands print', async () => {
  const [start, kill, startAgain, call] = transcripts() as [Transcript, Transcript, Transcript, Transcript];
  const place = { cwd: checkout(), port: await freePort() };

  const server = typed(start.command, place);
  const [, pid] = await server.says(/process +(\d+)[\s\S]*second terminal/);
  const client = typed(`${call.command} 2>&1`, place);
  await client.says(/^([3-9]|[12]\d) of 30$/m);
  await typed(kill.command.replace(/\d+$/, pid!), place).ended;
  expect(asTold((await server.ended).stdout)).toEqual(start.output);

  const next = typed(startAgain.command, place);
  const [printed, nextPid] = await next.says(/[\s\S]*process +(\d+)[\s\S]*second terminal/);
  expect(startAgain.output.at(-1)).toBe('…');
  expect(asTold(printed).slice(0, startAgain.output.length - 1)).toEqual(startAgain.output.slice(0, -1));

  const { code, stdout } = await client.ended;
  expect(asTold(stdout)).toEqual(call.output);
  expect(code).toBe(0);

  const [, last, firstPid, first, secondPid] =
    /1 to (\d+) in process (\d+), (\d+) to 30 in process (\d+)\.\n$/.exec(stdout)!;
  expect([firstPid, secondPid]).toEqual([pid, nextPid]);
  expect(Number(first)).toBe(Number(last) + 1);
  const numbers = [...stdout.matchAll(/^(\d+) of 30$/gm)].map(([, n]) => Number(n));
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  expect(numbers.at(-1)).toBe(30);
});

test.concurrent.each([
  ['demo --port 70000', '"70000" is not a port: use a number from 0 to 65535; see `holdfast demo --help`'],
  ['demo --port', '--port needs a value; see `holdfast demo --help`'],
  ['demo --prot 1', 'unknown option --prot; see `holdfast demo --help`'],
  ['demo now', 'unexpected argument "now" for demo; see `holdfast demo --help`'],
  ['demo call', 'a call takes a server, a tool and at most one JSON object; see `holdfast call --help`'],
  ['demo call count "{"', 'the input is not JSON: {; see `holdfast call --help`'],
])('holdfast %s is wrong usage, reported in one sentence', async (args, problem) => {
  const { code, stdout, stderr } = await holdfast(args, { cwd: temporaryFolder() }).ended;
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: `holdfast: ${problem}.\n`,
  });
});

test.concurrent.each([
  ['demo', 'demo'],
  ['demo call', 'call'],
])('holdfast %s --help describes the usage', async (words, command) => {
  const { code, stdout, stderr } = await holdfast(`${words} --help`, { cwd: temporaryFolder() }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`Usage: holdfast ${command} `);
});

test.concurrent('a port in use ends the demo with an error, and changes no task', async () => {
  const { cwd, port } = await shared();
  const { code, stdout, stderr } = await holdfast(`demo --port ${port}`, { cwd }).ended;
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '',
    stderr: `holdfast: Port ${port} is in use: stop the program that uses it, or choose another port with --port.\n`,
  });
});

test.concurrent('an invalid data folder ends the demo with an error', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'file'), '');
  const { code, stderr } = await holdfast('demo --data file', { cwd }).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^holdfast: .*file.*\n$/);
  expect(stderr).not.toMatch(/\n +at /);
});

test.concurrent('SIGTERM ends the demo with 0, and its tasks resume with the next one', async () => {
  const cwd = temporaryFolder();
  const first = holdfast('demo --data elsewhere', { cwd });
  const [, port] = await first.says(/:(\d+)\/mcp[\s\S]*second terminal/);
  const calls = [1, 2, 3].map(() => holdfast('demo call count', { cwd, port: Number(port) }));
  for (const call of calls) await call.says(/\d of 30/, 'complaints');
  first.signal('SIGTERM');
  const { code, stdout } = await first.ended;
  expect(code).toBe(0);
  expect(stdout).toContain('Tasks are stored in elsewhere.');
  expect(stdout).toMatch(/\nStopped\. Unfinished tasks resume at the next start\.\n$/);
  await holdfast('demo --data elsewhere', { cwd }).says(/^3 tasks resume\.$/m);
});

test.concurrent('a call without a server explains how to start it', async () => {
  const port = await freePort();
  const { code, stderr } = await holdfast('demo call count', { cwd: temporaryFolder(), port }).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(
    new RegExp(
      `^holdfast: There is no MCP server at http://127.0.0.1:${port}/mcp: .*\\. Start it with \`holdfast demo\`\\.\n$`,
    ),
  );
});

test.concurrent('an answer comes from --answer or later, and null declines', async () => {
  const place = await shared();
  const asked = await holdfast('demo call report_on_folder', place).ended;
  expect(asked.code).toBe(1);
  expect(asked.stderr).toContain('Write .holdfast/REPORT.md about 6 files, 37 lines, 214 words?');
  const [, answer, id] = /run holdfast (tasks answer (\w+)) '\{"write": …\}'\n$/.exec(asked.stderr)!;
  const refused = await holdfast(`${answer} '{"write": 3}'`, place).ended;
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('"write" must be true or false');
  await holdfast(`${answer} '{"write": true}'`, place).ended;
  const written = await holdfast(`tasks watch ${id}`, place).ended;
  expect(written.stdout).toContain('Wrote .holdfast/REPORT.md: 6 files, 37 lines, 214 words.');
  expect(readFileSync(join(place.cwd, '.holdfast/REPORT.md'), 'utf8')).toContain('calendar.js | 14 | 62 |');

  const declined = await holdfast('demo call report_on_folder --answer null', place).ended;
  expect(declined.code).toBe(0);
  expect(declined.stdout).toContain('Not written: 6 files');
});

test.concurrent('Ctrl-C detaches from a task and prints how to resume it', async () => {
  const place = await shared();
  const call = holdfast(`demo call count '{"to": 20, "everyMs": 250}'`, place);
  await call.says(/^task /m, 'complaints');
  call.signal('SIGINT');
  const { code, stderr } = await call.ended;
  expect(code).toBe(0);
  const [, back] = /Detached: the task continues\. Resume with: holdfast (.*)\n$/.exec(stderr)!;
  expect((await holdfast(back!, place).ended).stdout).toMatch(/Counted to 20 in one process\.\n$/);
});

test.concurrent('a tool error ends the call with 1 and its text', async () => {
  const place = await shared();
  const { code, stderr } = await holdfast(`demo call run_tests '{"folder": "/etc"}'`, place).ended;
  expect(code).toBe(1);
  expect(stderr).toContain(
    `"/etc" is outside ${place.cwd}: the demo only reads files in the folder that it was started in.\n`,
  );
});

// --- The transcript ----------------------------------------------------------------------------------------

interface Transcript {
  readonly command: string;
  readonly output: readonly string[];
}

function transcripts(): Transcript[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  return [...readme.matchAll(/```console\n\$ (.*)\n([\s\S]*?)```/g)].map(([, command, output]) => ({
    command: command!,
    output: asTold(output!),
  }));
}

/** Ids, ports, processes and how often progress was seen differ from run to run; npm announces each script. */
function asTold(text: string): string[] {
  const lines = text
    .replace(/^(?:> |npm (?:warn|notice) ).*\n/gm, '')
    .replace(/\b[a-z2-7]{32}\b/g, 'TASK')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replace(/#token=[\w-]+/g, '#token=TOKEN')
    .replace(/npx holdfast call http:\/\/127\.0\.0\.1:PORT\/mcp/g, 'npm start -- call')
    .replace(/1 to \d+ in process \d+, \d+ to/g, '1 to N in process PID, N to')
    .replace(/\bprocess( +)\d+/g, 'process$1PID')
    .replace(/^(?:(?:\d+ of 30|…)\n)+/gm, '…\n');
  return lines.trim().split('\n');
}
