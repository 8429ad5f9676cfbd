/** `holdfast call` and `holdfast tasks` at a real pseudo-terminal. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, test } from 'vitest';
import { Fixture, serverIn } from './fixture.ts';
import { normalised } from './normalised.ts';
import { Home, temporaryFolder } from './terminal.ts';

const shared = new Fixture('--drafts');
beforeAll(() => shared.start());
afterAll(() => shared.kill());

const ctrlC = '\x03';
const ctrlD = '\x04';

/** The command on the screen that resumes the call. */
function resumeArgs(screen: string): string[] {
  const [, command] = /^ {2}holdfast (tasks .+)$/m.exec(screen)!;
  return command!.split(' ');
}

test.concurrent('a task is one live line, and leaves its duration and result', async ({ expect }) => {
  const terminal = new Home().open(['call', shared.url, 'slow_compute', '{"seconds": 3}']);
  const [line] = await terminal.shows(/^.*█.*$/m);
  expect(normalised(line)).toMatch(/^\* slow_compute █+░* \d+\/30 0:00\n$/);
  expect(terminal.screen.isCursorShown).toBe(false);
  expect(await terminal.ended).toBe(0);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/result.txt');
  expect(terminal.screen.isCursorShown).toBe(true);
});

test.concurrent('subtasks are below their parents', async ({ expect }) => {
  const input = '{"children": 2, "depth": 2, "delayMs": 5000}';
  const terminal = new Home().open(['call', shared.url, 'fan_out', input, '--drafts']);
  await terminal.shows(/(?:^ {4}\S \w{8} 0:\d\d\n?(?: {2}\S.*\n)?){4}/m);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/subtasks.txt');
  expect(await terminal.ended).toBe(0);
});

test.concurrent('subtasks that do not fit are counted, and the screen does not scroll', async ({
  expect,
}) => {
  const input = '{"children": 20, "depth": 1, "delayMs": 10000}';
  const terminal = new Home().open(['call', shared.url, 'fan_out', input, '--drafts'], { rows: 8 });
  await terminal.shows(/… 15 more, 0 finished/);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/many-subtasks.txt');
  expect(await terminal.ended).toBe(0);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/many-subtasks-over.txt');
});

test.concurrent('a form is asked in place, with defaults and choices, and asks again after invalid input', async ({
  expect,
}) => {
  const terminal = new Home().open(['call', shared.url, 'order']);
  const says = async (prompt: RegExp, keys: string) => {
    await terminal.shows(prompt);
    terminal.types(keys);
  };
  await says(/Name on the parcel:$/, 'K\r');
  await says(/at least 2 characters\.\n {2}Name on the parcel:$/, 'Kelp\r');
  await says(/Crates \(1 to 10\) \[3\]:$/, '12\r');
  await says(/at most 10\.\n.*Crates.*:$/, 'two\r');
  await says(/two is not a number\.\n.*Crates.*:$/, '\r');
  await says(/Size \(1 to 3\) \[medium\]:$/, 'huge\r');
  await says(/not one of the choices[^\n]*\n.*Size.*:$/, '3\r');
  await says(/As a gift\? \(y\/n\) \[n\]:$/, 'perhaps\r');
  await says(/Enter y or n\.\n.*:$/, 'y\r');
  await says(/Note \[\]:$/, '\r');
  expect(await terminal.ended).toBe(0);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/form.txt');
});

test.concurrent('Ctrl-D declines a form', async ({ expect }) => {
  const terminal = new Home().open(['call', shared.url, 'confirm_delete', '{"filename": "kelp"}']);
  await terminal.shows(/confirm \(y\/n\):$/);
  terminal.types(ctrlD);
  expect(await terminal.ended).toBe(0);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/declined.txt');
});

test.concurrent('a link is shown unwrapped, and confirmed once it was opened', async ({ expect }) => {
  const terminal = new Home().open(['call', shared.url, 'sign'], { columns: 40 });
  await terminal.shows(/Done\? \(y\/n\):$/);
  terminal.types('y\r');
  expect(await terminal.ended).toBe(0);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/link.txt');
});

test.concurrent('Ctrl-C detaches from a task, and the printed command resumes it', async ({ expect }) => {
  const home = new Home();
  const first = home.open(['call', shared.url, 'slow_compute', '{"seconds": 10}']);
  await first.shows(/\d\/100/);
  first.types(ctrlC);
  expect(await first.ended).toBe(0);
  await expect(normalised(first.screen.text)).toMatchFileSnapshot('screens/detached.txt');

  const second = home.open(resumeArgs(first.screen.text));
  await second.shows(/█/);
  expect(await second.ended).toBe(0);
  expect(second.screen.text).toMatch(/✔ slow_compute 0:\d\d\ndone$/);
});

test.concurrent.for(['2026-07-28', '2025-11-25'])(
  'Ctrl-C at a question of %s leaves it open, and resuming asks it again',
  async (revision, { expect }) => {
    const home = new Home();
    const first = home.open(['call', shared.url, 'ask_name', '--revision', revision]);
    await first.shows(/name:$/);
    first.types(`Ke${ctrlC}`);
    expect(await first.ended).toBe(0);
    await expect(normalised(first.screen.text)).toMatchFileSnapshot('screens/detached-at-a-question.txt');

    const second = home.open(resumeArgs(first.screen.text));
    await second.shows(/name:$/);
    second.types('Kelp\r');
    expect(await second.ended).toBe(0);
    expect(second.screen.text).toMatch(/Hello, Kelp!$/);
  },
);

test.concurrent('Ctrl-C detaches from a call without a response, and the call is not repeated', async ({
  expect,
}) => {
  const home = new Home();
  const first = home.open(['call', shared.url, 'linger']);
  await first.shows(/linger 0:00/);
  // The call is saved before it is sent.
  await first.shows(/linger 0:01/);
  first.types(ctrlC);
  expect(await first.ended).toBe(0);
  const second = home.open(resumeArgs(first.screen.text));
  expect(await second.ended).toBe(0);
  expect(second.screen.text).toMatch(/✔ linger 0:\d\d\nlingered$/);
});

test.concurrent('Ctrl-C before the tool was called leaves nothing to resume', async ({ expect }) => {
  const server = await new Fixture().start();
  process.kill(server.pid, 'SIGSTOP');
  try {
    const terminal = new Home().open(['call', server.url, 'greet', '{"name": "x"}']);
    await terminal.shows(/Connecting to/);
    await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/connecting.txt');
    terminal.types(ctrlC);
    expect(await terminal.ended).toBe(1);
    expect(terminal.screen.text).toBe('holdfast: Stopped before the tool was called.');
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await server.kill();
  }
});

test.concurrent('a question that is answered elsewhere is withdrawn', async ({ expect }) => {
  const home = new Home();
  const terminal = home.open(['call', shared.url, 'ask_name']);
  await terminal.shows(/name:$/);
  const { stdout } = await home.run('tasks', 'list', '--json');
  const { id } = JSON.parse(stdout);
  expect(await home.run('tasks', 'answer', id, '{"name": "Tang"}')).toEqual({
    code: 0,
    stdout: 'Answered "name".\n',
    stderr: '',
  });
  expect(await terminal.ended).toBe(0);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/answered-elsewhere.txt');
});

test.concurrent('in 40 columns, lines are truncated by their width on the screen', async ({ expect }) => {
  const terminal = new Home().open(['call', shared.url, 'haul'], { columns: 40 });
  await terminal.shows(/海.*…$/);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/40-columns.txt');
  expect(terminal.screen.hasBrokenLines).toBe(false);
  terminal.types(ctrlC);
  await terminal.ended;
  expect(terminal.screen.hasBrokenLines).toBe(false);
});

test.concurrent('a resized terminal is redrawn', async ({ expect }) => {
  const terminal = new Home().open(['call', shared.url, 'haul'], { columns: 80 });
  await terminal.shows(/桟橋/);
  await terminal.resize(40);
  await terminal.shows(/haul ██░░░░ 3.*…$/);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/40-columns.txt');
  await terminal.resize(100);
  await terminal.shows(/もうすぐです。$/);
  await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/100-columns.txt');
  terminal.types(ctrlC);
  await terminal.ended;
});

test.concurrent('NO_COLOR and --no-color switch colours off', async ({ expect }) => {
  const args = ['call', shared.url, 'nap', '{"ms": 100}'];
  const [usual, byEnvironment, byOption] = [
    new Home().open(args),
    new Home().open(args, { NO_COLOR: '1' }),
    new Home().open([...args, '--no-color']),
  ];
  await Promise.all([usual.ended, byEnvironment.ended, byOption.ended]);
  expect([...usual.screen.colours]).toContain('32');
  expect([...byEnvironment.screen.colours]).toEqual([]);
  expect([...byOption.screen.colours]).toEqual([]);
  expect(normalised(byOption.screen.text)).toEqual(normalised(usual.screen.text));
});

test.concurrent('the client waits for a server that is killed', async ({ expect }) => {
  const server = await new Fixture().start();
  try {
    const terminal = new Home().open(['call', server.url, 'slow_compute', '{"seconds": 5}']);
    await terminal.shows(/\d\/50/);
    await server.kill();
    await terminal.shows(/Server unavailable; waiting\./);
    await expect(normalised(terminal.screen.text).replace(/█*░+ \d+/, '█░ N')).toMatchFileSnapshot(
      'screens/server-away.txt',
    );
    await server.start();
    expect(await terminal.ended).toBe(0);
    await expect(normalised(terminal.screen.text)).toMatchFileSnapshot('screens/result.txt');
  } finally {
    await server.kill();
  }
});

test.concurrent('a server that we started is restarted after a kill, and its task resumes', async ({
  expect,
}) => {
  const file = `${temporaryFolder()}/ledger`;
  const input = JSON.stringify({ file, steps: 12, delayMs: 400 });
  const command = [...serverIn(temporaryFolder()), '--stdio'];
  const terminal = new Home().open(['call', 'ledger', input, '--', ...command]);
  await terminal.shows(/\d\/12/);
  process.kill(await writerOf(file), 'SIGKILL');
  expect(await terminal.ended).toBe(0);
  expect(terminal.screen.text).toMatch(/✔ ledger 0:\d\d\ndone 12$/);
  expect(new Set((await linesOf(file)).map(([, , pid]) => pid)).size).toBe(2);
});

test.concurrent('a server that we started stops at Ctrl-C, and its task resumes with the call', async ({
  expect,
}) => {
  const home = new Home();
  const command = [...serverIn(temporaryFolder()), '--stdio'];
  const first = home.open(['call', 'nap', '{"ms": 5000}', '--', ...command]);
  await first.shows(/nap 0:01/);
  first.types(ctrlC);
  expect(await first.ended).toBe(0);
  await expect(normalised(first.screen.text)).toMatchFileSnapshot('screens/detached-own-server.txt');
  const second = home.open(resumeArgs(first.screen.text));
  expect(await second.ended).toBe(0);
  expect(second.screen.text).toMatch(/woke$/);
});

test.concurrent('a second Ctrl-C does not wait for a server that does not stop', async ({ expect }) => {
  const server = [...serverIn(temporaryFolder()), '--stdio'];
  const stubborn = ['sh', '-c', 'trap "" TERM; "$0" "$@"; sleep 20', ...server];
  const terminal = new Home().open(['call', 'slow_compute', '{"seconds": 60}', '--', ...stubborn]);
  await terminal.shows(/\/600/);
  terminal.types(ctrlC);
  await terminal.shows(/Resume with:/);
  terminal.types(ctrlC);
  expect(await terminal.ended).toBe(130);
});

test.concurrent('a list fits into 40 columns', async ({ expect }) => {
  const home = new Home();
  await home.run('call', shared.url, 'slow_compute', '{"seconds": 0}');
  await home.run('call', shared.url, 'ask_name', '--detach');
  const list = home.open(['tasks', 'list', '--all'], { columns: 40 });
  expect(await list.ended).toBe(0);
  await expect(normalised(list.screen.text)).toMatchFileSnapshot('screens/list.txt');
  expect(list.screen.hasBrokenLines).toBe(false);
});

async function linesOf(file: string): Promise<string[][]> {
  return (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
}

async function writerOf(file: string): Promise<number> {
  return Number((await linesOf(file)).at(-1)![2]);
}
