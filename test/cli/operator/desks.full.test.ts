/** The same commands on real tasks, with --store and with --url. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqlite } from 'holdfast/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TaskDetails, TaskSummary } from '../../../src/operator/api.ts';
import { askedBelow, delegate, operatorToken, stage, tools } from '../../operator/stage.ts';
import { emptyDatabase } from '../../postgres/database.ts';
import { query } from '../../postgres/server.ts';
import { kinds } from '../../stores/kinds.ts';
import { Fixture } from '../fixture.ts';
import { Home, temporaryFolder } from '../terminal.ts';

const postgres = kinds.find(({ name }) => name === 'Postgres');
const env = { HOLDFAST_OPERATOR_TOKEN: operatorToken, TZ: 'UTC', LC_ALL: 'C.UTF-8' };

/** A server with its store in a file, and both ways to it. */
async function opened() {
  const place = join(temporaryFolder(), 'tasks.db');
  const { tasks, origin } = await stage({ place, tools: [...tools, delegate] });
  const ways = { store: ['--store', `sqlite:${place}`], url: ['--url', origin] };
  const done = async (tool: string, input: unknown = {}) => {
    const { id } = await tasks.create(tool, input);
    await tasks.outcome(id);
    return id;
  };
  const waiting = async (tool = 'approve', input: unknown = {}) => {
    const { id } = await tasks.create(tool, input);
    await expect.poll(async () => (await tasks.get(id))!.phase).toBe('waiting');
    return id;
  };
  return { tasks, ways, done, waiting };
}

describe.each(['store', 'url'] as const)('with --%s', (way) => {
  test('tasks are listed, filtered by status, and shown', async () => {
    const { ways, done, waiting } = await opened();
    const [greeted, broken, asking] = [
      await done('greet', { name: 'Kelp' }),
      await done('break'),
      await waiting(),
    ];
    const home = new Home(env);
    const listed = async (...args: string[]) => {
      const { stdout } = await home.run('tasks', 'list', '--json', ...args, ...ways[way]);
      const lines = stdout.split('\n').filter((line) => line !== '');
      return lines.map((line): TaskSummary => JSON.parse(line)).map(({ id }) => id);
    };
    expect(await listed()).toEqual([asking, broken, greeted]);
    expect(await listed('--status', 'failed,lost')).toEqual([broken]);
    expect(await listed('--tool', 'approve', '--since', '1h')).toEqual([asking]);

    const { stdout } = await home.run('tasks', 'show', asking.slice(0, 10), ...ways[way]);
    expect(stdout).toMatch(/^\? approve {2}waiting\n/);
    expect(stdout).toMatch(/^pass 1 .*━/m);
    expect(stdout).toMatch(/^ {2}\? approval .*▸/m);
    expect(stdout).toContain(
      `answer with: holdfast tasks answer ${asking} approval '{"go": …}' ${ways[way].join(' ')}`,
    );
  });

  test('a question of a subtask is listed, and answered by a prefix of its id', async () => {
    const { tasks, ways } = await opened();
    const { id } = await tasks.create('delegate');
    const child = await askedBelow(tasks, id);
    const home = new Home(env);
    const listed = await home.run('tasks', 'list', '--status', 'waiting', ...ways[way]);
    expect(listed.stdout).toMatch(new RegExp(`^. ${child} +waiting +approve .* subtask · 1 question$`, 'm'));
    expect(listed.stdout).not.toContain(id);
    const answer = ['approval', '{"go": true}'];
    await home.run('tasks', 'answer', child.slice(0, 12), ...answer, ...ways[way]);
    expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
  });

  test('a question is answered, and watch prints the end', async () => {
    const { ways, waiting } = await opened();
    const id = await waiting();
    const home = new Home(env);
    const watch = home.start('tasks', 'watch', id, ...ways[way]);
    await watch.says(/asks "approval"\n/);
    expect(await home.run('tasks', 'answer', id, '{"go": "maybe"}', ...ways[way])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/The answer to "approval" does not fit the question/),
    });
    expect(await home.run('tasks', 'answer', id, '{"go": true}', ...ways[way])).toMatchObject({
      code: 0,
      stdout: 'Answered "approval".\n',
    });
    const { code, stdout } = await watch.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/"approval" is answered\n[\s\S]*finished: result\n$/);
  });

  test('a form is filled in at the terminal', async () => {
    const { ways, waiting, tasks } = await opened();
    const id = await waiting();
    const terminal = new Home(env).open(['tasks', 'answer', id, ...ways[way]]);
    await terminal.shows(/Go\?\n[\s\S]*go \(y\/n\):$/);
    terminal.types('y\r');
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen.text).toMatch(/Answered "approval"\.$/);
    expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
  });

  test('a task is cancelled with a reason, and purged once it has finished', async () => {
    const { ways, waiting, tasks } = await opened();
    const id = await waiting();
    const home = new Home(env);
    expect(await home.run('tasks', 'purge', id, '--yes', ...ways[way])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not done'),
    });
    expect(await home.run('tasks', 'cancel', id, '--reason', 'enough', ...ways[way])).toEqual({
      code: 0,
      stdout: `Cancelled ${id}.\n`,
      stderr: '',
    });
    expect(await tasks.outcome(id)).toEqual({ kind: 'cancelled', reason: 'enough' });
    const { entries } = await tasks.audit.read({ taskId: id, action: 'cancelled' });
    expect(entries).toMatchObject([{ by: 'operator' }]);
    expect((await home.run('tasks', 'result', id, ...ways[way])).code).toBe(1);
    expect(await home.run('tasks', 'purge', id, '--yes', ...ways[way])).toMatchObject({
      code: 0,
      stdout: `Purged ${id}.\n`,
    });
    expect((await home.run('tasks', 'show', id, ...ways[way])).stderr).toMatch(/There is no task/);
  });

  test('the live view shows changes as they happen', async () => {
    const { ways, done } = await opened();
    const before = await done('greet', { name: 'Tang' });
    const terminal = new Home(env).open(['tasks', 'watch', ...ways[way]]);
    await terminal.shows(/✔ 1 completed/);
    const after = await done('break');
    await terminal.shows(new RegExp(`Failed\\n✖ ${after.slice(0, 8)}`));
    await terminal.shows(
      new RegExp(`Recent changes\\n[\\s\\S]*✖ ${after.slice(0, 8)} (.*It broke|.*redacted)`),
    );
    expect(terminal.screen.text).not.toContain(before.slice(0, 8));
    terminal.types('q');
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen.text).toBe('');
  });
});

test('a server hides secret fields; --store hides all values without --reveal', async () => {
  const { ways, waiting } = await opened();
  const id = await waiting('pay', { card: { number: '4711-xyzzy' } });
  const home = new Home(env);
  const shown = async (...args: string[]) => {
    const { stdout, stderr } = await home.run('tasks', 'show', id, '--json', ...args);
    return { story: JSON.parse(stdout) as TaskDetails, stderr };
  };
  const byServer = await shown(...ways.url);
  expect(byServer.story.arguments).toEqual({ card: { number: '[redacted]' } });
  expect(byServer.stderr).toBe('');
  const byStore = await shown(...ways.store);
  expect(byStore.story.arguments).toBe('[redacted]');
  expect(byStore.stderr).toMatch(/^Values are hidden, because .* Show them with --reveal\.\n$/);
  const revealed = await shown(...ways.store, '--reveal');
  expect(revealed.story.arguments).toEqual({ card: { number: '4711-xyzzy' } });
  expect(revealed.stderr).toBe('');
});

test('a list also warns if it hides why a task failed', async () => {
  const { ways, done } = await opened();
  await done('break');
  const home = new Home(env);
  const { stdout, stderr } = await home.run('tasks', 'list', ...ways.store);
  expect(stdout).toMatch(/failed .* \[redacted\]\n$/);
  expect(stderr).toMatch(/^Values are hidden/);
  const revealed = await home.run('tasks', 'list', '--reveal', ...ways.store);
  expect(revealed.stdout).toMatch(/failed .* It broke\./);
  expect(revealed.stderr).toBe('');
});

test('a store on Postgres can be opened, and its password is not printed', async () => {
  const url = await postgres!.place();
  const { tasks } = await stage({ place: url });
  const { id } = await tasks.create('approve');
  await expect.poll(async () => (await tasks.get(id))!.phase).toBe('waiting');
  const { code, stdout } = await new Home(env).run('tasks', 'show', id.slice(0, 12), '--store', url);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\? approve {2}waiting\n/);
  expect(stdout).toMatch(/ --store '?postgres/);
  const { password } = new URL(url);
  if (password !== '') expect(stdout).not.toContain(password);
});

test('a crash of the server during a call is visible', async () => {
  const server = await new Fixture().start();
  const home = new Home(env);
  try {
    const ledger = join(temporaryFolder(), 'ledger');
    const input = JSON.stringify({ file: ledger, steps: 12, delayMs: 600 });
    await home.run('call', server.url, 'ledger', input, '--detach');
    const lines = () => (existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').length - 1 : 0);
    await expect.poll(lines).toBeGreaterThan(3);
    await server.kill();
    await server.start();
    const [listed] = (await home.run('tasks', 'list', '--json', '--store', server.store)).stdout.split('\n');
    const { id }: TaskSummary = JSON.parse(listed!);
    expect((await home.run('tasks', 'watch', id, '--store', server.store)).code).toBe(0);
    const { stdout } = await home.run('tasks', 'show', id, '--store', server.store);
    expect(stdout).toMatch(/^✔ ledger {2}completed/);
    expect(stdout).toMatch(/^passes +2, ✗ 1 process died, ↻ resumed, \d+ steps? not repeated$/m);
    expect(stdout).toMatch(/^pass 1 .*✗.*\n {2}✗ process died; taken over .* later$/m);
    expect(stdout).toMatch(/^pass 2 .*\n {2}↻ resumed, \d+ steps? not repeated$/m);
  } finally {
    await server.kill();
  }
});

test('only a server that has the tool retries a task, and only once', async () => {
  const { ways, done, tasks } = await opened();
  const id = await done('break');
  const home = new Home(env);
  expect(await home.run('tasks', 'retry', id, ...ways.store)).toMatchObject({
    code: 1,
    stderr: 'holdfast: Only a server that has the tool can retry the task: use --url with its address.\n',
  });
  const { stdout } = await home.run('tasks', 'retry', id, ...ways.url);
  const [, again] = /^Retried as (\w{32})\.\n$/.exec(stdout)!;
  expect(again).not.toBe(id);
  expect((await home.run('tasks', 'retry', id, ...ways.url)).stdout).toBe(stdout);
  expect(await tasks.get(again!)).toMatchObject({ tool: 'break' });
});

test('an encrypted store is not opened, and the error refers to its servers', async () => {
  const place = join(temporaryFolder(), 'tasks.db');
  const key = randomBytes(32).toString('base64');
  await (await sqlite(place, { encryption: { keys: { spring: key }, current: 'spring' } })()).close();
  expect(await new Home(env).run('tasks', 'list', '--store', `sqlite:${place}`)).toEqual({
    code: 1,
    stdout: '',
    stderr: `holdfast: The store at ${place} is encrypted, and only its servers have the keys: use --url with the address of a server.\n`,
  });
});

test.for([
  ['sqlite:nowhere.db', 1, /There is no store at nowhere\.db/],
  ['memory:', 2, /memory: stores are private to one process/],
  ['somewhere', 2, /"somewhere" is not a store URL/],
] as const)('%s cannot be opened as a store', async ([store, code, words]) => {
  expect(await new Home(env).run('tasks', 'list', '--store', store)).toEqual({
    code,
    stdout: '',
    stderr: expect.stringMatching(words),
  });
});

test('reading a Postgres database without tasks creates no tables', async () => {
  const { url, remove } = await emptyDatabase();
  onTestFinished(remove);
  for (const command of [['tasks', 'list'], ['audit']]) {
    const { code, stdout, stderr } = await new Home().run(...command, '--store', url);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^holdfast: postgres:\S+ does not contain tasks: [^\n]*\n$/);
  }
  expect(await query(url, "select 1 from pg_namespace where nspname like 'holdfast%'")).toEqual([]);
});
