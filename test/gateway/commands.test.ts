/** Programs as durable tools: arguments, output and exit. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OutputLog } from '../../src/gateway/commands/command.ts';
import { TaskCancelled } from '../../src/remote-tasks/errors.ts';
import { connectOurClient, type OurClient } from '../dialects/interop/our-client.ts';
import { textOf } from '../kit/text.ts';
import { until } from '../kit/until.ts';
import { processesOf } from './process-table.ts';
import { notes, openGateway, type Stage } from './stage.ts';

const object = (properties: object, required: string[] = []) => ({ type: 'object', properties, required });
const string = { type: 'string' };
/** Prints its arguments as JSON, one list. */
const echo = {
  command: process.execPath,
  args: ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--'],
};
const withArgs = (...args: string[]) => ({ ...echo, args: [...echo.args, ...args] });

const commands = {
  words: {
    ...withArgs('{text}', '--n={n}', '{more}', '{{text}}'),
    inputSchema: object({ text: string, n: { type: 'integer' }, more: { type: 'array', items: string } }, [
      'text',
    ]),
  },
  read: {
    command: process.execPath,
    args: [
      '-e',
      'let n = 0; process.stdin.on("data", (c) => (n += c.length)).on("end", () => console.log(n))',
    ],
    stdin: '{text}',
    inputSchema: object({ text: string }, ['text']),
  },
  script: {
    command: 'printf "%s|" "$@"',
    shell: true,
    args: ['{text}'],
    inputSchema: object({ text: string }, ['text']),
  },
  environment: { command: 'printf "$LOCATION $PWD"', shell: true, env: { LOCATION: 'here' }, cwd: '/' },
  fails: { command: 'echo to the log >&2; exit 3', shell: true },
  slow: { command: 'echo begun; sleep 600', shell: true, timeout: '3s', killAfter: '20s' },
  chatty: { command: 'yes tide | head -c 100000', shell: true, maxOutputSize: 1000 },
  family: {
    // Two processes below the shell. One ignores SIGTERM.
    command: '(trap "" TERM; echo $$ > "$1"; sleep 600; sleep 600) & sleep 600; wait',
    shell: true,
    args: ['{file}'],
    killAfter: '200ms',
    inputSchema: object({ file: string }, ['file']),
  },
  counts: { command: 'for i in 1 2 3 4 5; do echo line $i; sleep 0.5; done', shell: true },
  nothing: { command: '/nowhere/at/all' },
};

let stage: Stage;
let client: OurClient;

beforeAll(async () => {
  stage = await openGateway({ commands });
  client = await connectOurClient(stage.url, { isModern: true });
});

afterAll(async () => {
  await client?.tasks.close();
  await stage?.[Symbol.asyncDispose]();
});

async function call(name: keyof typeof commands, input = {}) {
  return client.tasks.callTool({ name, arguments: input });
}

test('a command is listed as a tool with its schemas', async () => {
  const { tools } = await client.tasks.client.listTools();
  const words = tools.find(({ name }) => name === 'words');
  expect(words?.inputSchema).toMatchObject(commands.words.inputSchema);
  expect(words?.outputSchema).toMatchObject({ properties: { exitCode: {} } });
});

test('placeholders are replaced: an array becomes several arguments, a missing input none', async () => {
  const parsed = async (input: object) => JSON.parse(textOf(await call('words', input)));
  expect(await parsed({ text: 'a b', n: 3, more: ['x', 'y z'] })).toEqual([
    'a b',
    '--n=3',
    'x',
    'y z',
    '{text}',
  ]);
  expect(await parsed({ text: '' })).toEqual(['', '{text}']);
});

describe('hostile arguments', () => {
  const hostile = [
    '; rm -rf /tmp/holdfast-never',
    '$(touch /tmp/holdfast-never)',
    '`touch /tmp/holdfast-never`',
    'one\ntwo\nthree',
    '" && touch /tmp/holdfast-never && "',
    "' | touch /tmp/holdfast-never '",
    '{text} {n}',
    `\${PATH}`,
    '\u{1f30a} \u202e',
  ];

  test.each(hostile)('are data to a program: %j', async (text) => {
    expect(JSON.parse(textOf(await call('words', { text })))[0]).toBe(text);
    expect(existsSync('/tmp/holdfast-never')).toBe(false);
  });

  test.each(hostile)('are data to a script, which gets them as separate arguments: %j', async (text) => {
    expect(textOf(await call('script', { text }))).toBe(`${text}|`);
    expect(existsSync('/tmp/holdfast-never')).toBe(false);
  });

  test('a NUL is rejected, because an argument cannot contain one', async () => {
    const result = await call('words', { text: 'a\0b' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('contains a NUL character');
  });

  test('a megabyte is rejected as an argument and accepted on standard input', async () => {
    const text = 'x'.repeat(1024 * 1024);
    const refused = await call('words', { text });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain('Pass long input on standard input');
    expect(textOf(await call('read', { text })).trim()).toBe(String(text.length));
  });

  test('input that does not match the schema is rejected before anything runs', async () => {
    const result = await call('words', { text: 1 });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('Invalid arguments for tool words');
  });
});

test('environment and working directory come from the config', async () => {
  expect(textOf(await call('environment'))).toBe('here /');
});

test('exit code and output are in the structured result, and a failure is an error result', async () => {
  expect(await call('fails')).toMatchObject({
    isError: true,
    structuredContent: {
      exitCode: 3,
      signal: null,
      timedOut: false,
      output: 'to the log\n',
      omittedBytes: 0,
    },
  });
  const missing = await call('nothing');
  expect(missing.isError).toBe(true);
  expect(textOf(missing)).toContain('Could not run "nothing"');
});

test('a command that times out is stopped', async () => {
  expect(await call('slow')).toMatchObject({
    isError: true,
    structuredContent: { exitCode: null, signal: 'SIGTERM', timedOut: true, output: 'begun\n' },
  });
});

test('the beginning and the end of long output are kept', async () => {
  const { structuredContent } = (await call('chatty')) as unknown as {
    structuredContent: { output: string; omittedBytes: number };
  };
  expect(structuredContent.omittedBytes).toBe(99_000);
  expect(structuredContent.output).toMatch(/^tide\n[\s\S]*… 99000 bytes left out …[\s\S]*tide\n$/);
  expect(structuredContent.output.length).toBeLessThan(1_100);
});

test('output of a command is its progress', async () => {
  const handle = await client.tasks.call('counts');
  const messages: (string | undefined)[] = [];
  for await (const update of handle.updates()) if (update.type === 'progress') messages.push(update.message);
  expect(textOf(await handle.result())).toContain('line 5');
  expect(messages.length).toBeGreaterThan(1);
  expect(messages.at(-1)).toBe('line 5');
});

test('a cancelled command leaves no process running, not even one that ignores SIGTERM', async () => {
  const { file, lines } = notes();
  const handle = await client.tasks.call('family', { file });
  await until(() => lines().length > 0);
  expect(processesOf(handle.taskId!).length).toBeGreaterThan(1);
  await handle.cancel();
  await until(() => processesOf(handle.taskId!).length === 0);
  await expect(handle.result()).rejects.toThrow(TaskCancelled);
});

test('an output log keeps what fits and counts the rest', () => {
  const log = new OutputLog(10);
  for (const part of ['abc', 'defg', 'hij']) log.write(Buffer.from(part));
  expect(log.end()).toEqual({ output: 'abcdefghij', omittedBytes: 0 });
  log.write(Buffer.from('klm\n'));
  expect(log.end()).toEqual({ output: 'abcde\n… 4 bytes left out …\njklm\n', omittedBytes: 4 });
  expect(log.lines).toBe(1);
});
