/** `holdfast call` and `holdfast tasks` without a terminal: in pipes, with JSON, and with wrong usage. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fixture, serverIn } from './fixture.ts';
import { normalised } from './normalised.ts';
import { type Ended, Home, temporaryFolder } from './terminal.ts';

const shared = new Fixture('--drafts');
beforeAll(() => shared.start());
afterAll(() => shared.kill());

// biome-ignore lint/suspicious/noExplicitAny: tests check the printed JSON.
type PrintedJson = any;

function linesOf({ stdout }: Ended): PrintedJson[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

async function detached(home: Home, ...args: string[]): Promise<string> {
  const { stdout, code } = await home.run('call', shared.url, ...args, '--detach');
  expect(code).toBe(0);
  return stdout.trim();
}

test.concurrent('in a pipe, progress goes to stderr as plain lines, and only the result to stdout', async () => {
  const { code, stdout, stderr } = await new Home().run(
    'call',
    shared.url,
    'slow_compute',
    '{"seconds": 0.5}',
  );
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' });
  expect(normalised(stderr)).toMatch(/^task ID\nworking\n(\d of 5\n)+\n$/);
  expect(stderr).not.toMatch(/(?!\n)\p{Cc}/u);
});

test.concurrent('control characters from a server are not printed', async () => {
  const child = new Home().start('call', shared.url, 'haul');
  const [line] = await child.says(/^3 of 10.*$/m, 'complaints');
  expect(line).toBe('3 of 10: 海藻を岩から 引き上げて、桟橋まで運んでいます。もうすぐです。');
  child.signal('SIGINT');
  const { code, stderr } = await child.ended;
  expect(code).toBe(0);
  expect(normalised(stderr)).toMatch(
    /Detached: the task continues\. Resume with: holdfast tasks watch ID\n\n$/,
  );
});

test.concurrent('a question without a terminal ends the command with one sentence, and the task continues', async () => {
  const home = new Home();
  const { code, stdout, stderr } = await home.run('call', shared.url, 'ask_name');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const sentence = `holdfast: The task is waiting for an answer to "name" (What is your name?): use --answer, or run holdfast tasks answer ID '{"name": …}'`;
  // The status `working` is only seen if the client polls before the question.
  expect(normalised(stderr).replace('\nworking\n', '\n')).toBe(`task ID\ninput_required\n${sentence}\n\n`);

  const [, id] = /tasks answer (\w+)/.exec(stderr)!;
  const shown = await home.run('tasks', 'show', id!);
  expect(normalised(shown.stdout)).toBe(
    [
      'id        ID',
      'task      ID',
      'server    holdfast-fixture at http://127.0.0.1:PORT/mcp',
      'tool      ask_name {}',
      'created   N s ago, WHEN',
      'status    input_required',
      'question  name: What is your name?',
      `          answer with: holdfast tasks answer ID '{"name": …}'`,
      '\n',
    ].join('\n'),
  );
  expect(await home.run('tasks', 'answer', id!, '{"name": "Kelp"}')).toMatchObject({ code: 0 });
  expect(await home.run('tasks', 'result', id!)).toEqual({ code: 0, stdout: 'Hello, Kelp!\n', stderr: '' });
});

test.concurrent('a tool that asks before its task exists leaves no call in the registry', async () => {
  const home = new Home();
  const { code, stdout, stderr } = await home.run('call', shared.url, 'test_tool_with_task');
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '',
    stderr: `holdfast: The tool asks "user_name" (What is your name?) before it starts: call it again with --answer '{"name": …}'.\n`,
  });
  expect((await home.run('tasks', 'list', '--all', '--json')).stdout).toBe('');
});

test.concurrent.each([
  ['for any question', 'ask_name', ['{"name": "Kelp"}'], 'Hello, Kelp!'],
  ['before the task exists', 'test_tool_with_task', ['{"name": "Kelp"}'], 'Hello, Kelp!'],
  ['by key', 'ask_name', ['{"other": {}, "name": {"name": "Kelp"}}'], 'Hello, Kelp!'],
  [
    'one for all',
    'multi_input',
    ['{"confirm": true}'],
    '[{"action":"accept","content":{"confirm":true}},{"action":"accept","content":{"confirm":true}}]',
  ],
  [
    'one after the other',
    'multi_input',
    ['{"confirm": true}', 'null'],
    '[{"action":"accept","content":{"confirm":true}},{"action":"decline"}]',
  ],
  [
    'each by its key',
    'multi_input',
    ['{"second": {"confirm": true}, "first": null}'],
    '[{"action":"decline"},{"action":"accept","content":{"confirm":true}}]',
  ],
  ['to a link', 'sign', ['{}'], 'signed: accept'],
])('--answer answers questions: %s', async (_, tool, answers, result) => {
  const given = answers.flatMap((answer) => ['--answer', answer]);
  const { code, stdout } = await new Home().run('call', shared.url, tool, ...given);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${result}\n` });
});

test.concurrent('an answer that the server refuses ends the command, and the question stays open', async () => {
  const home = new Home();
  const { code, stderr } = await home.run('call', shared.url, 'ask_name', '--answer', '{"name": 7}');
  expect(code).toBe(1);
  expect(stderr.trim().split('\n').at(-1)).toMatch(/^holdfast: The server refused the answer to "name": .+/);
  const [call] = linesOf(await home.run('tasks', 'list', '--json'));
  expect(linesOf(await home.run('tasks', 'show', call.id, '--json'))).toMatchObject([
    { status: 'input_required' },
  ]);
});

test.concurrent('--json prints one JSON object per line', async () => {
  const input = '{"children": 1, "depth": 1, "delayMs": 100}';
  const ended = await new Home().run('call', shared.url, 'fan_out', input, '--drafts', '--json');
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  const events = linesOf(ended);
  const [called, task] = events;
  expect(called).toEqual({ event: 'called', id: expect.any(String), tool: 'fan_out' });
  expect(task).toEqual({ event: 'task', id: called.id, taskId: expect.any(String) });
  const child = events.find(({ event }) => event === 'child');
  expect(child).toEqual({ event: 'child', taskId: expect.any(String), parentId: task.taskId });
  expect(events).toContainEqual({ event: 'status', taskId: child.taskId, status: 'completed' });
  expect(events.at(-1)).toMatchObject({
    event: 'result',
    id: called.id,
    result: { content: [{ type: 'text', text: 'parent 1' }] },
  });
});

test.concurrent('--json prints progress, questions and errors', async () => {
  const home = new Home();
  const progress = linesOf(await home.run('call', shared.url, 'slow_compute', '{"seconds": 0.3}', '--json'));
  expect(progress).toContainEqual(expect.objectContaining({ event: 'progress', progress: 3, total: 3 }));

  const asked = await home.run('call', shared.url, 'ask_name', '--json');
  expect(asked.code).toBe(1);
  expect(linesOf(asked)).toContainEqual(
    expect.objectContaining({ event: 'question', key: 'name', kind: 'form', message: 'What is your name?' }),
  );
  expect(linesOf(asked).at(-1)).toEqual({
    event: 'error',
    id: expect.any(String),
    message: expect.stringContaining('"name"'),
  });

  const failed = await home.run('call', shared.url, 'protocol_error_job', '--json');
  expect(failed.code).toBe(1);
  expect(linesOf(failed).at(-1)).toMatchObject({ event: 'error', code: -32603 });
});

test.concurrent.each([
  ['an error result', ['failing_job'], /^The job failed, as it always does\.$/],
  ['an error of the protocol', ['protocol_error_job'], /^holdfast: The job broke the protocol/],
  ['an unknown tool', ['nope'], /^holdfast: .*nope.*not found/],
])('%s is exit code 1 and one sentence on stderr', async (_, args, sentence) => {
  const { code, stdout, stderr } = await new Home().run('call', shared.url, ...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr.trim().split('\n').at(-1)).toMatch(sentence);
});

test.concurrent('an error result also goes to stderr with --json, and whenever it is read again', async () => {
  const home = new Home();
  const sentence = 'The job failed, as it always does.';
  const isResult = (ended: Ended) => {
    expect(ended).toMatchObject({ code: 1, stderr: `holdfast: ${sentence}\n` });
    expect(linesOf(ended).at(-1)).toMatchObject({
      event: 'result',
      result: { isError: true, content: [{ text: sentence }] },
    });
  };
  isResult(await home.run('call', shared.url, 'failing_job', '--json'));
  const id = await detached(home, 'failing_job');
  // The first command asks the server, the others read the registry.
  for (const verb of ['result', 'watch', 'result']) isResult(await home.run('tasks', verb, id, '--json'));
  for (const verb of ['result', 'watch'])
    expect(await home.run('tasks', verb, id)).toEqual({ code: 1, stdout: '', stderr: `${sentence}\n` });
});

test.concurrent.each([
  [
    'there is no server',
    ['http://127.0.0.1:9/mcp'],
    [],
    'There is no MCP server at http://127.0.0.1:9/mcp: ',
  ],
  ['there is no command', [], ['--', 'no-such-command'], 'Command not found: "no-such-command".'],
  [
    'the command serves nothing',
    [],
    ['--revision', '2025-11-25', '--', process.execPath, '-e', 'throw Error()'],
    ' does not serve MCP: ',
  ],
])('one sentence reports that %s', async (_, before, after, sentence) => {
  const { code, stdout, stderr } = await new Home().run(
    'call',
    ...before,
    'greet',
    '{"name": "x"}',
    ...after,
  );
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  expect(stderr).toContain(sentence);
});

test.concurrent('a server is found by its name in a config file, also to resume a call', async () => {
  const home = new Home();
  const [, ...args] = [...serverIn(temporaryFolder()), '--stdio'];
  const words = args.map((word) => `'${word}'`).join(' ');
  const command = {
    command: 'sh',
    args: ['-c', `exec "$OWN_NODE" ${words}`],
    env: { OWN_NODE: process.execPath },
  };
  const config = { mcpServers: { own: command, web: { url: '${' + 'WEB}', headers: {} } } };
  const file = join(home.folder, 'servers.json');
  writeFileSync(file, JSON.stringify(config));
  const called = await home.run('call', 'own', 'greet', '{"name": "x"}', '--config', file);
  expect(called).toMatchObject({ code: 0, stdout: 'Hello, x!\n' });

  writeFileSync(join(home.folder, '.mcp.json'), JSON.stringify({ mcpServers: { web: { url: shared.url } } }));
  const left = await home.run('call', 'web', 'nap', '{"ms": 300}', '--detach');
  expect(await home.run('tasks', 'result', left.stdout.trim())).toMatchObject({ code: 0, stdout: 'woke\n' });
  expect(linesOf(await home.run('tasks', 'list', '--all', '--json')).map(({ server }) => server)).toEqual([
    'own',
    'web',
  ]);

  const missing = await home.run('call', 'web', 'greet', '--config', file);
  expect(missing).toEqual({
    code: 1,
    stdout: '',
    stderr: `holdfast: ${file}:1: "web" needs the environment variable WEB, which is not set.\n`,
  });
});

test.concurrent('headers are sent but not saved, and have to be passed again', async () => {
  const server = await new Fixture('--tokens', 'sesame=owner').start();
  try {
    const home = new Home();
    const closed = await home.run('call', server.url, 'nap', '{"ms": 1}');
    expect(closed).toMatchObject({ code: 1, stdout: '' });
    expect(closed.stderr).toMatch(/^holdfast: The server at \S+ requires authentication: pass --header/);

    const header = ['--header', 'Authorization: Bearer sesame'];
    const { stdout, stderr } = await home.run('call', server.url, 'ask_name', '--detach', ...header);
    const id = stdout.trim();
    expect(stderr).toContain(`holdfast tasks watch ${id.slice(0, 8)} --header 'Authorization: …'`);
    expect((await home.run('tasks', 'show', id, '--json', ...header)).stdout).not.toContain('sesame');
    const without = await home.run('tasks', 'answer', id, '{"name": "Kelp"}');
    expect(without).toMatchObject({ code: 2, stdout: '' });
    expect(without.stderr).toMatch(/^holdfast: the header Authorization is not saved: pass it again/);
    const answered = await home.run('tasks', 'answer', id, '{"name": "Kelp"}', ...header);
    expect(answered).toMatchObject({ code: 0, stdout: 'Answered "name".\n' });
  } finally {
    await server.kill();
  }
});

test.concurrent('calls are listed until their result was printed, and can be forgotten', async () => {
  const home = new Home();
  const id = await detached(home, 'nap', '{"ms": 1}');
  expect((await home.run('tasks', 'list')).stdout).toMatch(
    new RegExp(`^ID .*\n${id.slice(0, 8)}  holdfast-fixture  nap   open    \\d+ s\n$`),
  );
  expect(await home.run('tasks', 'result', id.slice(0, 6))).toMatchObject({ code: 0, stdout: 'woke\n' });
  expect((await home.run('tasks', 'list')).stdout).toBe('');
  expect((await home.run('tasks', 'list', '--all')).stdout).toMatch(/ completed /);
  // From here on the server is no longer needed.
  expect(await home.run('tasks', 'watch', id)).toMatchObject({ code: 0, stdout: 'woke\n' });
  expect((await home.run('tasks', 'show', id)).stdout).toMatch(/^status {4}completed\nresult {4}woke$/m);
  expect(await home.run('tasks', 'forget', id)).toMatchObject({ code: 0, stdout: `Forgot ${id}.\n` });
  expect(await home.run('tasks', 'watch', id)).toMatchObject({ code: 1, stdout: '' });
});

test.concurrent('a task is cancelled, and has finished then', async () => {
  const home = new Home();
  const id = await detached(home, 'nap', '{"ms": 60000}');
  expect(await home.run('tasks', 'cancel', id)).toEqual({
    code: 0,
    stdout: `Cancelled ${id}.\n`,
    stderr: '',
  });
  expect(await home.run('tasks', 'cancel', id)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'holdfast: The call has already finished: cancelled.\n',
  });
  expect(await home.run('tasks', 'result', id)).toMatchObject({ code: 1, stdout: '' });
});

test.concurrent('a task without open questions accepts no answer', async () => {
  const home = new Home();
  const id = await detached(home, 'nap', '{"ms": 60000}');
  expect(await home.run('tasks', 'answer', id, '{}')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'holdfast: No open questions.\n',
  });
});

test.concurrent('a question of a subtask is answered through its parent', async () => {
  const home = new Home();
  const input = '{"children": 1, "depth": 1, "delayMs": 0, "ask": true}';
  const id = await detached(home, 'fan_out', input, '--drafts');
  expect(await home.run('tasks', 'answer', id, '{"confirm": true}')).toMatchObject({
    code: 0,
    stdout: 'Answered "confirm".\n',
  });
  expect(await home.run('tasks', 'result', id)).toMatchObject({ code: 0, stdout: 'parent 1\n' });
});

test.concurrent('questions of 2025-11-25 are answered in the same way', async () => {
  const home = new Home();
  const id = await detached(home, 'ask_name', '--revision', '2025-11-25');
  expect(await home.run('tasks', 'result', id)).toMatchObject({ code: 1, stdout: '' });
  expect(await home.run('tasks', 'answer', id, '{"name": "Kelp"}')).toMatchObject({ code: 0 });
  expect(await home.run('tasks', 'result', id)).toMatchObject({ code: 0, stdout: 'Hello, Kelp!\n' });
});

test.concurrent.each([
  [['call'], 'a call takes a server, a tool and at most one JSON object', 'call'],
  [['call', 'http://x/mcp'], 'a call takes a server, a tool and at most one JSON object', 'call'],
  [['call', 'http://x/mcp', 'tool', '{'], 'the input is not JSON: {', 'call'],
  [['call', 'http://x/mcp', 'tool', '[]'], 'the input is not a JSON object: []', 'call'],
  [
    ['call', 'x', 'tool'],
    '"x" is not a URL, and this folder has no .mcp.json or holdfast.json that could name a server',
    'call',
  ],
  [
    ['call', 'http://x/mcp', 'tool', '--answer', '7'],
    '--answer takes a JSON object, or null to decline',
    'call',
  ],
  [['call', 'http://x/mcp', 'tool', '--header', 'x'], "--header takes 'Name: value', not 'x'", 'call'],
  [
    ['call', 'http://x/mcp', 'tool', '--header', 'Token: k€lp'],
    'the value of the header Token contains characters that cannot be sent',
    'call',
  ],
  [
    ['call', 'http://x/mcp', 'tool', '--ttl', 'soon'],
    '"soon" is not a duration: use a number with a unit, such as 30s, 5m, 24h or 7d',
    'call',
  ],
  [
    ['call', 'http://x/mcp', 'tool', '--revision', '2024'],
    '"2024" is not a revision: use auto, 2025-11-25, 2026-07-28',
    'call',
  ],
  [['call', 'tool', '--'], '-- must be followed by the command that starts the server', 'call'],
  [['call', '--frobnicate'], 'unknown option --frobnicate', 'call'],
  [['tasks'], 'tasks needs a command, such as list or watch', 'tasks'],
  [['tasks', 'frob'], 'unknown command: tasks frob', 'tasks'],
  [['tasks', 'watch'], 'watch needs the id of a call', 'tasks'],
  [['tasks', 'watch', 'abc'], '"abc" is too short: give at least 6 letters of an id', 'tasks'],
  [['tasks', 'list', 'all'], 'unexpected argument "all" for list', 'tasks'],
  [['tasks', 'cancel', 'abcdefg', 'now'], 'unexpected argument "now" for cancel', 'tasks'],
])('wrong usage: %j', async (args, sentence, command) => {
  expect(await new Home().run(...args)).toEqual({
    code: 2,
    stdout: '',
    stderr: `holdfast: ${sentence}; see \`holdfast ${command} --help\`.\n`,
  });
});

test.concurrent.each(['call', 'tasks'])('%s --help describes the usage in 120 columns', async (command) => {
  const { code, stdout, stderr } = await new Home().run(command, '--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`Usage: holdfast ${command} `);
  expect(stdout.split('\n').filter((line) => line.length > 120)).toEqual([]);
});
