/** `holdfast audit` on the store of a server. */
import { join } from 'node:path';
import { createTasks, durableTool } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { beforeAll, expect, test } from 'vitest';
import { Home, temporaryFolder } from '../cli/terminal.ts';

let store: string;
let taskId: string;
const wait = durableTool('wait', {}, async () => 'done');

beforeAll(async () => {
  const file = join(temporaryFolder(), 'tasks.db');
  store = `sqlite:${file}`;
  await using tasks = createTasks({ store: sqlite(file), tools: [wait], audit: true });
  taskId = (await tasks.create('wait', {}, { owner: 'ada' })).id;
  await tasks.create('wait', {}, { owner: 'bob' });
  await tasks.cancel(taskId, 'No\x1b[2J longer\nneeded.');
});
const audit = (...args: string[]) => new Home().run('audit', '--store', store, ...args);

test('it prints a table, the oldest entries first', async () => {
  const { code, stdout, stderr } = await audit();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const cells = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(cells.map((row) => row.slice(1, 4))).toEqual([
    ['ACTION', 'BY', 'OWNER'],
    ['created', 'operator', 'ada'],
    ['created', 'operator', 'bob'],
    ['cancelled', 'operator', 'ada'],
  ]);
  // What others say cannot steer the terminal.
  expect(cells[3]!.slice(4)).toEqual([taskId, 'wait', 'No longer needed.']);
});

test('--json prints entries as they are, one per line', async () => {
  const { stdout } = await audit('--json', '--task', taskId);
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(entries).toMatchObject([
    { action: 'created', owner: 'ada', taskId, tool: 'wait', by: 'operator' },
    { action: 'cancelled', reason: 'No\x1b[2J longer\nneeded.' },
  ]);
});

test('entries are chosen by owner, action and time', async () => {
  const lines = async (...args: string[]) => (await audit('--json', ...args)).stdout.split('\n').length - 1;
  expect(await lines('--owner', 'bob')).toBe(1);
  expect(await lines('--action', 'cancelled')).toBe(1);
  expect(await lines('--owner', 'bob', '--action', 'cancelled')).toBe(0);
  expect(await lines('--since', '1h')).toBe(3);
  expect(await lines('--since', '2020-01-01')).toBe(3);
  expect(await lines('--since', new Date(Date.now() + 60_000).toISOString())).toBe(0);
});

test('that there is nothing is said beside the output', async () => {
  expect(await audit('--task', 'nobody')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'No matching entries.\n',
  });
});

test.each([
  [['--action', 'danced'], 'unknown action "danced"'],
  [['--since', 'yesterday'], '"yesterday" is neither a time nor a duration'],
  [
    ['--store', 'ftp:here'],
    '"ftp:here" is not a store URL: use sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:',
  ],
  [['everything'], 'unexpected argument "everything" for audit'],
])('wrong usage is told in one sentence: %j', async (args, sentence) => {
  const { code, stdout, stderr } = await audit(...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe(`holdfast: ${sentence}; see \`holdfast audit --help\`.\n`);
});

test('a store that is not there is not made', async () => {
  const { code, stderr } = await new Home().run('audit');
  expect(code).toBe(1);
  expect(stderr).toBe('holdfast: There is no store at .holdfast/demo.db: pass its location with --store.\n');
});
