/** The operator's commands without a terminal: in pipes, with JSON, and with wrong usage. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ended, Home } from '../terminal.ts';
import { OperatorServer, token } from './desk-server.ts';
import { ago, idOf, killed, now, pass, patient, several, story, summary } from './stories.ts';

const server = new OperatorServer();
beforeAll(async () => {
  server.tasks = several;
  for (const one of [killed, patient]) server.story = one;
  await server.start();
});
afterAll(async () => {
  await Promise.all([server, ...owned].map((one) => one.stop()));
});

const env = { HOLDFAST_OPERATOR_TOKEN: token, TZ: 'UTC', LC_ALL: 'C.UTF-8' };
const run = (...args: string[]) => new Home(env).run('tasks', ...args, '--url', server.url);
const linesOf = ({ stdout }: Ended) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** A server for a single test. */
const owned: OperatorServer[] = [];
async function own(): Promise<OperatorServer> {
  const operator = await new OperatorServer().start();
  owned.push(operator);
  return operator;
}

test.concurrent('a list in a pipe is not truncated and has full ids', async ({ expect }) => {
  const { code, stdout, stderr } = await run('list');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await expect(stdout).toMatchFileSnapshot('screens/list-in-a-pipe.txt');
});

test.concurrent('a list as JSON has the fields of the API, one task per line', async () => {
  expect(linesOf(await run('list', '--json'))).toEqual(several);
});

test.concurrent('control characters from a server are not printed, not even in ids or JSON', async () => {
  const operator = await own();
  const steering = '\x1b[2J\x1b[31m\x9b2J\u202e\x7f';
  const task = {
    ...several[0]!,
    id: `reef${steering}`,
    parentId: `kelp${steering}`,
    tool: `sync${steering}`,
  };
  operator.tasks = [task];
  operator.story = { ...story({ task: killed.task }), retryOf: `kelp${steering}` };
  const at = (...args: string[]) => new Home(env).run('tasks', ...args, '--url', operator.url);
  const [plain, shown, json] = await Promise.all([
    at('list'),
    at('show', killed.task.id),
    at('list', '--json'),
  ]);
  for (const { stdout } of [plain, shown, json]) expect(stdout).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
  expect(plain.stdout).toContain('reef');
  expect(shown.stdout).toMatch(/^retry of +kelp/m);
  expect(linesOf(json)).toEqual([task]);
});

test.concurrent('an error about a token does not print it', async () => {
  const home = new Home({ ...env, HOLDFAST_OPERATOR_TOKEN: 'k€lp' });
  const { code, stderr } = await home.run('tasks', 'list', '--url', server.url);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^holdfast: the token contains characters that cannot be sent: [^€\n]*\n$/);
});

test.concurrent('a list prints how many more tasks there are, and --all lists all', async () => {
  const operator = await own();
  operator.tasks = several;
  const some = await new Home(env).run('tasks', 'list', '--limit', '3', '--url', operator.url);
  expect(some.stdout.split('\n')).toHaveLength(3 + 2);
  expect(some.stderr).toBe('4 more: list them with --all or a higher --limit.\n');
  const all = await new Home(env).run('tasks', 'list', '--all', '--json', '--url', operator.url);
  expect(linesOf(all)).toEqual(several);
});

test.concurrent('filters are those of the API, and times are counted from the clock of the server', async () => {
  const operator = await own();
  const filters = ['--status', 'failed,lost', '--tool', 'sync', '--owner', 'ana', '--since', '2h'];
  const more = ['--until', '2026-11-15T11:00:00Z', '--text', 'kelp'];
  const { code, stderr } = await new Home(env).run(
    'tasks',
    'list',
    ...filters,
    ...more,
    '--url',
    operator.url,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'No matching tasks.\n' });
  const query = `status=failed&status=lost&owner=ana&tool=sync&since=${ago(7_200)}&until=${ago(3_600)}&text=kelp`;
  expect(operator.requests).toContain(`GET /tasks?${query}&limit=50`);
});

test.concurrent('a unique prefix of an id is enough', async () => {
  expect(JSON.parse((await run('show', 'kelpkkkk', '--json')).stdout)).toEqual(killed);
  expect(await run('show', 'reefkkkkkk')).toMatchObject({
    code: 1,
    stderr:
      'holdfast: No task has an id that begins with reefkkkkkk. A subtask without questions needs its full id.\n',
  });
});

test.concurrent('with too many tasks to search, the full id is required', async () => {
  const operator = await own();
  operator.unlisted = 1;
  const { code, stderr } = await new Home(env).run('tasks', 'show', 'kelpkkkk', '--url', operator.url);
  expect(code).toBe(1);
  expect(stderr).toMatch(/too many tasks to search for kelpkkkk: give the full id/);
});

test.concurrent('a task in a pipe has no colours and is not truncated', async ({ expect }) => {
  const { stdout } = await run('show', patient.task.id, '--full');
  expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  await expect(stdout).toMatchFileSnapshot('screens/full-in-a-pipe.txt');
});

test.concurrent('a result is printed as text, with --json as the whole outcome', async () => {
  expect(await run('result', patient.task.id)).toEqual({ code: 0, stdout: 'High at noon.\n', stderr: '' });
  expect(JSON.parse((await run('result', patient.task.id, '--json')).stdout)).toEqual(patient.outcome);
});

test.concurrent.for([
  [
    'an error result',
    { kind: 'result', isError: true, value: { content: [{ type: 'text', text: 'No.' }] } },
    'No.\n',
  ],
  ['a failure', { kind: 'failure', message: 'Broken.', code: -32603 }, 'holdfast: Broken. (-32603)\n'],
  ['a cancelled task', { kind: 'cancelled', reason: 'enough' }, 'holdfast: The task was cancelled: enough\n'],
  ['a lost task', { kind: 'lost', message: 'Nobody knows.' }, 'holdfast: Nobody knows.\n'],
] as const)('%s is printed to stderr, and the exit code is 1', async ([, outcome, stderr]) => {
  const operator = await own();
  operator.story = story({ task: summary({ status: 'failed', finishedAt: now }), outcome });
  const { id } = summary();
  expect(await new Home(env).run('tasks', 'result', id, '--url', operator.url)).toEqual({
    code: 1,
    stdout: '',
    stderr,
  });
  const json = await new Home(env).run('tasks', 'result', id, '--json', '--url', operator.url);
  expect({ ...json, stdout: JSON.parse(json.stdout) }).toEqual({ code: 1, stdout: outcome, stderr: '' });
});

test.concurrent('watching a task prints its events, and its outcome is the exit code', async () => {
  const operator = await own();
  const created = { version: 1, at: ago(9), event: { type: 'created' } } as const;
  const claimed = { version: 2, at: ago(8), event: { type: 'claimed', epoch: 1, worker: 'host-1' } } as const;
  const task = summary({ version: 2 });
  operator.story = story({ task, events: [created, claimed] });
  const child = new Home(env).start('tasks', 'watch', task.id, '--url', operator.url);
  await child.says(/11:59:51 created\n11:59:52 pass 1 on host-1\n/);
  await expect.poll(() => operator.listeners).toBe(1);
  const over = summary({ version: 3, status: 'failed', finishedAt: now });
  const finished = { version: 3, at: now, event: { type: 'finished', outcome: 'failure' } } as const;
  operator.story = story({ task: over, passes: [pass()], events: [created, claimed, finished] });
  operator.send({ type: 'changes', id: '1', tasks: [over], subtasks: [], removed: [] });
  expect(await child.ended).toEqual({
    code: 1,
    stdout: '11:59:51 created\n11:59:52 pass 1 on host-1\n12:00:00 finished: failure\n',
    stderr: '',
  });
});

test.concurrent('watching all tasks prints lines until it is interrupted, and waits for an unavailable server', async () => {
  const operator = await new OperatorServer().start();
  const child = new Home(env).start('tasks', 'watch', '--url', operator.url);
  await expect.poll(() => operator.listeners).toBe(1);
  operator.send({ type: 'changes', id: '1', tasks: [several[1]!], subtasks: [], removed: [] });
  await child.says(/^11:59:58 running ● abalonek+ {2}publish_report {2}ana {2}\d+ s {2}3\/8\n$/);
  await operator.stop();
  await child.says(/Server unavailable; retrying\.\n/, 'complaints');
  await operator.start();
  try {
    await child.says(/Server available again\.\n/, 'complaints');
    child.signal('SIGINT');
    expect(await child.ended).toMatchObject({ code: 0 });
  } finally {
    await operator.stop();
  }
});

test.concurrent('watching all tasks with --json prints the messages of the API', async () => {
  const operator = await own();
  const child = new Home(env).start('tasks', 'watch', '--json', '--url', operator.url);
  await expect.poll(() => operator.listeners).toBe(1);
  const message = {
    type: 'changes',
    id: '1',
    tasks: [several[1]!],
    subtasks: [],
    removed: [idOf('gone')],
  } as const;
  operator.send(message);
  const [line] = await child.says(/.*\n/);
  expect(JSON.parse(line)).toEqual(message);
  child.signal('SIGINT');
  expect(await child.ended).toMatchObject({ code: 0, stderr: '' });
});

test.concurrent.for([
  [['{"ok": true}'], { action: 'accept', content: { ok: true } }],
  [['approval', '{"ok": true}'], { action: 'accept', content: { ok: true } }],
  [['null'], { action: 'decline' }],
  [['--decline'], { action: 'decline' }],
  [['approval', '--decline'], { action: 'decline' }],
] as const)('an answer as %j', async ([words, response]) => {
  const operator = await own();
  operator.story = killed;
  const { id } = killed.task;
  expect(await new Home(env).run('tasks', 'answer', id, ...words, '--url', operator.url)).toEqual({
    code: 0,
    stdout: 'Answered "approval".\n',
    stderr: '',
  });
  expect(operator.requests.at(-1)).toBe(
    `POST /tasks/${id}/answer ${JSON.stringify({ key: 'approval', response })}`,
  );
});

test.concurrent('several open questions need a key', async () => {
  const operator = await own();
  const again = { ...killed.questions[1]!, key: 'approval~2' };
  operator.story = { ...killed, questions: [...killed.questions, again] };
  const args = ['tasks', 'answer', killed.task.id, '{"ok": true}', '--url', operator.url];
  expect(await new Home(env).run(...args)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /several open questions: give the key, "approval", "approval~2", before the answer/,
    ),
  });
});

test.concurrent.for<[string, string[], number, RegExp]>([
  ['a missing command', [], 2, /tasks needs a command, such as list or watch/],
  [
    'an unknown command',
    ['forget', 'x'],
    2,
    /unknown command: tasks forget with --store or --url; use list, show/,
  ],
  ['an option of another command', ['show', 'x', '--limit', '3'], 2, /--limit cannot be used with show/],
  ['a missing id', ['show'], 2, /show needs the id of a task/],
  ['an extra argument', ['show', 'x', 'y'], 2, /unexpected argument "y" for show/],
  ['a text instead of a filter', ['list', 'kelp'], 2, /unexpected argument "kelp" for list: use --text/],
  ['an id that is too short', ['show', 'kelp'], 2, /"kelp" is too short: give at least 8 letters/],
  ['an unknown status', ['list', '--status', 'bad'], 2, /"bad" is not a status: use queued, running/],
  ['an invalid time', ['list', '--since', 'lately'], 2, /"lately" is neither a time nor a duration/],
  ['an invalid number', ['list', '--limit', '0'], 2, /--limit must be a whole number of at least 1, not "0"/],
  [
    'a purge without --yes',
    ['purge', idOf('kelp')],
    2,
    /purge deletes a task and its result permanently: add --yes to confirm/,
  ],
  ['both --store and --url', ['list', '--store', 'sqlite:x'], 2, /--store and --url cannot be used together/],
  ['--reveal with --url', ['list', '--reveal'], 2, /--reveal needs --store/],
  ['an answer that is not JSON', ['answer', idOf('kelp'), '{ok}'], 2, /an answer is not JSON: \{ok\}/],
  [
    'an answer that is not an object',
    ['answer', idOf('kelp'), 'approval', '1'],
    2,
    /must be a JSON object, or null to decline/,
  ],
  [
    'a missing answer without a terminal',
    ['answer', idOf('kelp')],
    2,
    /"approval" needs an answer: holdfast tasks answer/,
  ],
  [
    'an unknown question',
    ['answer', idOf('kelp'), 'x', '{}'],
    1,
    /has no open question "x", only "approval"/,
  ],
  [
    'an answer to a finished task',
    ['answer', idOf('patience'), '{}'],
    1,
    /has no open questions: it has finished/,
  ],
  [
    'a cancellation too late',
    ['cancel', idOf('patience')],
    1,
    /has already finished \(completed\) and cannot be cancelled/,
  ],
  [
    'a result too early',
    ['result', idOf('kelp')],
    1,
    /has no result yet \(status: waiting\)\. Wait for it with `holdfast tasks watch/,
  ],
  ['an unknown task', ['show', idOf('none')], 1, /There is no task nonek+ here; it may have been purged/],
])('%s is reported in one sentence', async ([, args, code, words]) => {
  const ended = await run(...args);
  expect(ended).toEqual({ code, stdout: '', stderr: expect.stringMatching(words) });
  expect(ended.stderr.trim().split('\n')).toHaveLength(1);
});

test.concurrent('the error for a missing or wrong token explains where to find it', async () => {
  const none = await new Home().run('tasks', 'list', '--url', server.url);
  expect(none).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/requires a token: set HOLDFAST_OPERATOR_TOKEN/),
  });
  const wrong = await new Home().run('tasks', 'list', '--token', 'x', '--url', server.url);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/does not accept this token/) });
});

test.concurrent('--url accepts the printed address of a dashboard', async () => {
  const address = `${server.url}/operator/#token=${encodeURIComponent(token)}`;
  const { code, stderr } = await new Home().run('tasks', 'list', '--url', address);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test.concurrent('a missing server and a server without the API give different errors', async () => {
  const gone = await new OperatorServer().start();
  await gone.stop();
  expect((await new Home(env).run('tasks', 'list', '--url', gone.url)).stderr).toMatch(
    /^holdfast: No server answers at http:\S+ \(ECONNREFUSED\): check that it is running/,
  );
  const other = await new Home(env).run('tasks', 'list', '--url', `${server.url}/mcp`);
  expect(other.stderr).toMatch(/has no operator API/);
});

test.concurrent('help has a section for operators', async () => {
  const { code, stdout } = await new Home().run('tasks', 'list', '--store', 'sqlite:x', '--help');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Manages the calls that you made on this machine/);
  expect(stdout).toMatch(/\n\nFor operators: .*--store URL .*--url URL/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
});

test.concurrent('a command for operators without --store or --url names these options', async () => {
  const { code, stderr } = await new Home().run('tasks', 'retry', idOf('kelp'));
  expect(code).toBe(2);
  expect(stderr).toMatch(/retry is for operators: add --store URL or --url URL/);
});
