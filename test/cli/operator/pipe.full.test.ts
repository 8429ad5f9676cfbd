/** The operator's commands where nobody looks on: in pipes, in scripts, as JSON, and used wrongly. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ended, Home } from '../terminal.ts';
import { DeskServer, token } from './desk-server.ts';
import { ago, idOf, killed, now, pass, patient, several, story, summary } from './stories.ts';

const server = new DeskServer();
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

/** A server that one test alone talks to. */
const owned: DeskServer[] = [];
async function own(): Promise<DeskServer> {
  const desk = await new DeskServer().start();
  owned.push(desk);
  return desk;
}

test.concurrent('a list in a pipe is not cut, and has whole ids', async ({ expect }) => {
  const { code, stdout, stderr } = await run('list');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await expect(stdout).toMatchFileSnapshot('screens/list-in-a-pipe.txt');
});

test.concurrent('a list as JSON has the fields of the API, one task per line', async () => {
  expect(linesOf(await run('list', '--json'))).toEqual(several);
});

test.concurrent('nothing that a server says steers the terminal, not even ids, and not as JSON either', async () => {
  const desk = await own();
  const steering = '\x1b[2J\x1b[31m\x9b2J\u202e\x7f';
  const task = {
    ...several[0]!,
    id: `reef${steering}`,
    parentId: `kelp${steering}`,
    tool: `sync${steering}`,
  };
  desk.tasks = [task];
  desk.story = { ...story({ task: killed.task }), retryOf: `kelp${steering}` };
  const at = (...args: string[]) => new Home(env).run('tasks', ...args, '--url', desk.url);
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

test.concurrent('a token that cannot be sent is not said back', async () => {
  const home = new Home({ ...env, HOLDFAST_OPERATOR_TOKEN: 'k€lp' });
  const { code, stderr } = await home.run('tasks', 'list', '--url', server.url);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^holdfast: the token has characters that cannot be sent: [^€\n]*\n$/);
});

test.concurrent('a list says how many more there are, and --all leaves none out', async () => {
  const desk = await own();
  desk.tasks = several;
  const some = await new Home(env).run('tasks', 'list', '--limit', '3', '--url', desk.url);
  expect(some.stdout.split('\n')).toHaveLength(3 + 2);
  expect(some.stderr).toBe('4 more: --limit N shows so many, --all shows all of them.\n');
  const all = await new Home(env).run('tasks', 'list', '--all', '--json', '--url', desk.url);
  expect(linesOf(all)).toEqual(several);
});

test.concurrent('filters are those of the API, and times are counted from the clock of the server', async () => {
  const desk = await own();
  const filters = ['--status', 'failed,lost', '--tool', 'sync', '--owner', 'ana', '--since', '2h'];
  const more = ['--until', '2026-11-15T11:00:00Z', '--text', 'kelp'];
  const { code, stderr } = await new Home(env).run('tasks', 'list', ...filters, ...more, '--url', desk.url);
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'There are no such tasks.\n' });
  const query = `status=failed&status=lost&owner=ana&tool=sync&since=${ago(7_200)}&until=${ago(3_600)}&text=kelp`;
  expect(desk.requests).toContain(`GET /tasks?${query}&limit=50`);
});

test.concurrent('a beginning of an id will do if no other task has it', async () => {
  expect(JSON.parse((await run('show', 'kelpkkkk', '--json')).stdout)).toEqual(killed);
  expect(await run('show', 'reefkkkkkk')).toMatchObject({
    code: 1,
    stderr:
      'holdfast: No task has an id that begins with reefkkkkkk; of a subtask that asks nothing the whole id is needed.\n',
  });
});

test.concurrent('where there are too many tasks to look through, the whole id is asked for', async () => {
  const desk = await own();
  desk.unlisted = 1;
  const { code, stderr } = await new Home(env).run('tasks', 'show', 'kelpkkkk', '--url', desk.url);
  expect(code).toBe(1);
  expect(stderr).toMatch(/too many tasks to look for kelpkkkk in all of them: give the whole id/);
});

test.concurrent('a story in a pipe has neither colours nor anything that is cut for a screen', async ({
  expect,
}) => {
  const { stdout } = await run('show', patient.task.id, '--full');
  expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  await expect(stdout).toMatchFileSnapshot('screens/full-in-a-pipe.txt');
});

test.concurrent('a result is its text; with --json it is the whole outcome', async () => {
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
  ['a cancelled task', { kind: 'cancelled', reason: 'enough' }, 'holdfast: It was cancelled: enough\n'],
  ['a lost task', { kind: 'lost', message: 'Nobody knows.' }, 'holdfast: Nobody knows.\n'],
] as const)('%s is told on stderr, and ends the command with 1', async ([, outcome, stderr]) => {
  const desk = await own();
  desk.story = story({ task: summary({ status: 'failed', finishedAt: now }), outcome });
  const { id } = summary();
  expect(await new Home(env).run('tasks', 'result', id, '--url', desk.url)).toEqual({
    code: 1,
    stdout: '',
    stderr,
  });
  const json = await new Home(env).run('tasks', 'result', id, '--json', '--url', desk.url);
  expect({ ...json, stdout: JSON.parse(json.stdout) }).toEqual({ code: 1, stdout: outcome, stderr: '' });
});

test.concurrent('a task that is watched is told event by event, and its end is the exit code', async () => {
  const desk = await own();
  const created = { version: 1, at: ago(9), event: { type: 'created' } } as const;
  const claimed = { version: 2, at: ago(8), event: { type: 'claimed', epoch: 1, holder: 'host-1' } } as const;
  const task = summary({ version: 2 });
  desk.story = story({ task, events: [created, claimed] });
  const child = new Home(env).start('tasks', 'watch', task.id, '--url', desk.url);
  await child.says(/11:59:51 called\n11:59:52 pass 1 on host-1\n/);
  await expect.poll(() => desk.listeners).toBe(1);
  const over = summary({ version: 3, status: 'failed', finishedAt: now });
  const finished = { version: 3, at: now, event: { type: 'finished', outcome: 'failure' } } as const;
  desk.story = story({ task: over, passes: [pass()], events: [created, claimed, finished] });
  desk.tell({ type: 'changes', id: '1', tasks: [over], subtasks: [], removed: [] });
  expect(await child.ended).toEqual({
    code: 1,
    stdout: '11:59:51 called\n11:59:52 pass 1 on host-1\n12:00:00 ended: failure\n',
    stderr: '',
  });
});

test.concurrent('everything is watched as lines, until somebody ends it; a server that goes is waited for', async () => {
  const desk = await new DeskServer().start();
  const child = new Home(env).start('tasks', 'watch', '--url', desk.url);
  await expect.poll(() => desk.listeners).toBe(1);
  desk.tell({ type: 'changes', id: '1', tasks: [several[1]!], subtasks: [], removed: [] });
  await child.says(/^11:59:58 running ● abalonek+ {2}publish_report {2}ana {2}\d+ s {2}3\/8\n$/);
  await desk.stop();
  await child.says(/The server is away; trying again\.\n/, 'complaints');
  await desk.start();
  try {
    await child.says(/The server is back\.\n/, 'complaints');
    child.signal('SIGINT');
    expect(await child.ended).toMatchObject({ code: 0 });
  } finally {
    await desk.stop();
  }
});

test.concurrent('everything is watched as JSON: the messages of the API', async () => {
  const desk = await own();
  const child = new Home(env).start('tasks', 'watch', '--json', '--url', desk.url);
  await expect.poll(() => desk.listeners).toBe(1);
  const message = {
    type: 'changes',
    id: '1',
    tasks: [several[1]!],
    subtasks: [],
    removed: [idOf('gone')],
  } as const;
  desk.tell(message);
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
  const desk = await own();
  desk.story = killed;
  const { id } = killed.task;
  expect(await new Home(env).run('tasks', 'answer', id, ...words, '--url', desk.url)).toEqual({
    code: 0,
    stdout: 'Answered "approval".\n',
    stderr: '',
  });
  expect(desk.requests.at(-1)).toBe(
    `POST /tasks/${id}/answer ${JSON.stringify({ key: 'approval', response })}`,
  );
});

test.concurrent('of several questions one has to be named', async () => {
  const desk = await own();
  const again = { ...killed.questions[1]!, key: 'approval~2' };
  desk.story = { ...killed, questions: [...killed.questions, again] };
  const args = ['tasks', 'answer', killed.task.id, '{"ok": true}', '--url', desk.url];
  expect(await new Home(env).run(...args)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/it asks "approval", "approval~2": say which of them before the answer/),
  });
});

test.concurrent.for<[string, string[], number, RegExp]>([
  ['nothing to do', [], 2, /tasks takes a command, such as list or watch/],
  [
    'an unknown command',
    ['forget', 'x'],
    2,
    /has no command "forget" with --store or --url: there are list, show/,
  ],
  ['an option of another command', ['show', 'x', '--limit', '3'], 2, /--limit is not for show/],
  ['no id', ['show'], 2, /show takes the id of a task/],
  ['too much', ['show', 'x', 'y'], 2, /show takes no "y"/],
  ['a text where filters are', ['list', 'kelp'], 2, /list takes no "kelp": --text finds tasks/],
  ['too short an id', ['show', 'kelp'], 2, /"kelp" is too short: give 8 letters or more/],
  [
    'a standing that there is not',
    ['list', '--status', 'bad'],
    2,
    /no task is "bad": --status takes queued, running/,
  ],
  ['no moment', ['list', '--since', 'lately'], 2, /"lately" is neither a moment nor a length of time/],
  ['no number', ['list', '--limit', '0'], 2, /--limit wants a whole number of at least 1, not "0"/],
  [
    'a purge in passing',
    ['purge', idOf('kelp')],
    2,
    /purge removes a task and its results for good: say --yes too/,
  ],
  ['two places', ['list', '--store', 'sqlite:x'], 2, /give --store or --url, not both/],
  ['an unveiling elsewhere', ['list', '--reveal'], 2, /--reveal is for --store/],
  ['an answer that is no JSON', ['answer', idOf('kelp'), '{ok}'], 2, /an answer is not JSON: \{ok\}/],
  [
    'an answer that is no object',
    ['answer', idOf('kelp'), 'approval', '1'],
    2,
    /is a JSON object, or null to decline/,
  ],
  [
    'an answer that nobody can give',
    ['answer', idOf('kelp')],
    2,
    /"approval" needs an answer: holdfast tasks answer/,
  ],
  [
    'a question that is not asked',
    ['answer', idOf('kelp'), 'x', '{}'],
    1,
    /does not ask "x": it asks "approval"/,
  ],
  ['a question of what is over', ['answer', idOf('patience'), '{}'], 1, /asks nothing: it is over/],
  [
    'a cancellation too late',
    ['cancel', idOf('patience')],
    1,
    /is over \(completed\), and cannot be cancelled/,
  ],
  [
    'a result too early',
    ['result', idOf('kelp')],
    1,
    /has no result yet: it is waiting\. `holdfast tasks watch/,
  ],
  ['a task that is not there', ['show', idOf('none')], 1, /There is no task nonek+: it may have been purged/],
])('%s is told in one sentence', async ([, args, code, words]) => {
  const ended = await run(...args);
  expect(ended).toEqual({ code, stdout: '', stderr: expect.stringMatching(words) });
  expect(ended.stderr.trim().split('\n')).toHaveLength(1);
});

test.concurrent('without a token, or with a wrong one, it is said where one comes from', async () => {
  const none = await new Home().run('tasks', 'list', '--url', server.url);
  expect(none).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/wants a token: set HOLDFAST_OPERATOR_TOKEN/),
  });
  const wrong = await new Home().run('tasks', 'list', '--token', 'x', '--url', server.url);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/does not accept this token/) });
});

test.concurrent('the address of a dashboard, as it was printed, is all that it takes', async () => {
  const address = `${server.url}/operator/#token=${encodeURIComponent(token)}`;
  const { code, stderr } = await new Home().run('tasks', 'list', '--url', address);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test.concurrent('a server that is not there, and one that is another, are told apart', async () => {
  const gone = await new DeskServer().start();
  await gone.stop();
  expect((await new Home(env).run('tasks', 'list', '--url', gone.url)).stderr).toMatch(
    /^holdfast: No server answers at http:\S+ \(ECONNREFUSED\): see that it runs/,
  );
  const other = await new Home(env).run('tasks', 'list', '--url', `${server.url}/mcp`);
  expect(other.stderr).toMatch(/has no operator's view/);
});

test.concurrent('help tells operators their part in a paragraph of its own', async () => {
  const { code, stdout } = await new Home().run('tasks', 'list', '--store', 'sqlite:x', '--help');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Calls that were made on this machine/);
  expect(stdout).toMatch(/\n\nFor operators: .*--store URL .*--url URL/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
});

test.concurrent('what only operators can do says what it takes', async () => {
  const { code, stderr } = await new Home().run('tasks', 'retry', idOf('kelp'));
  expect(code).toBe(2);
  expect(stderr).toMatch(/retry is for operators: say --store URL or --url URL too/);
});
