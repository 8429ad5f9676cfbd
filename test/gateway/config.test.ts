/** The config file of a gateway: its keys, and its error messages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { configIn } from '../../src/gateway/config/config.ts';
import { nearest, parseConfig } from '../../src/gateway/config/config-file.ts';

const read = (text: string) => configIn(parseConfig(text, 'holdfast.json'));
const readJson = (value: object) => read(JSON.stringify(value, null, 2));
/** The syntax of an environment variable in a config file. */
const variable = (name: string) => `\${${name}}`;

test('a server is a command or a URL, and keys that only concern MCP hosts are ignored', () => {
  const { upstreams } = readJson({
    mcpServers: {
      files: {
        type: 'stdio',
        command: 'npx',
        args: ['-y', 'files'],
        env: { A: '1' },
        cwd: '/tmp',
        autoApprove: [],
      },
      web: { type: 'http', url: 'https://example.com/mcp', headers: { 'x-key': 'k' } },
      off: { command: 'nothing', disabled: true },
    },
  });
  expect(upstreams).toEqual({
    files: {
      target: { command: 'npx', args: ['-y', 'files'], env: { A: '1' }, cwd: '/tmp' },
      policy: {},
      tools: {},
    },
    web: { target: { url: 'https://example.com/mcp', headers: { 'x-key': 'k' } }, policy: {}, tools: {} },
  });
});

test('environment and headers can contain variables, with fallbacks for unset ones', () => {
  vi.stubEnv('HOLDFAST_TEST_TOKEN', 'secret');
  const { upstreams } = readJson({
    mcpServers: {
      web: {
        url: 'https://example.com/mcp',
        headers: { authorization: `Bearer ${variable('HOLDFAST_TEST_TOKEN')}` },
      },
      own: { command: 'own', env: { LOCATION: variable('HOLDFAST_TEST_UNSET:-here') } },
    },
  });
  vi.unstubAllEnvs();
  expect(upstreams.web!.target).toMatchObject({ headers: { authorization: 'Bearer secret' } });
  expect(upstreams.own!.target).toMatchObject({ env: { LOCATION: 'here' } });
});

test('a server has a policy, and single tools can have their own', () => {
  const { upstreams } = readJson({
    mcpServers: {
      web: {
        url: 'http://127.0.0.1:1/mcp',
        task: 'always',
        deadline: '2h',
        retention: '7d',
        concurrency: 4,
        tools: { search: { retry: { attempts: 3, delay: '1s' }, idempotent: true, deadline: 'none' } },
      },
    },
  });
  expect(upstreams.web).toMatchObject({
    policy: { task: 'always', deadline: '2h', retention: '7d', concurrency: 4 },
    tools: { search: { retry: { attempts: 3, delay: '1s' }, idempotent: true, deadline: 'none' } },
  });
});

test('a command has typed input and placeholders for it', () => {
  const inputSchema = { type: 'object', properties: { target: { type: 'string' } }, required: ['target'] };
  const { commands } = readJson({
    commands: { build: { command: 'make', args: ['--jobs=2', '{target}'], inputSchema, timeout: '10m' } },
  });
  expect(commands.build).toMatchObject({
    command: 'make',
    args: ['--jobs=2', '{target}'],
    shell: false,
    inputSchema,
  });
});

test('a byte order mark is ignored', () => {
  expect(read('\ufeff{"commands": {}}').commands).toEqual({});
});

test.each([
  ['{\n  "mcpServers": {\n    "a": { "command": "x", }\n  }\n}', /^holdfast\.json:3: not valid JSON: /],
  ['{\n  "mcpServers": {', /^holdfast\.json:2: not valid JSON: /],
  ['{\n  "mcp": {}\n}', 'holdfast.json:1: the file has neither "mcpServers" nor "commands".'],
  ['{"mcpServers": 1}', 'holdfast.json:1: "mcpServers" must be an object.'],
])('an invalid file is rejected with the line: %j', (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test.each([
  [
    { mcpServers: { a: { command: 'x', headrs: {} } } },
    'holdfast.json:5: unknown key "headrs" in "mcpServers.a": did you mean "headers"?',
  ],
  [{ mcpServers: { a: {} } }, 'holdfast.json:3: "a" needs a "command" or a "url".'],
  [
    { mcpServers: { a: { command: 'x', url: 'http://x' } } },
    'holdfast.json:3: "a" has both a "command" and a "url": remove one of them.',
  ],
  [
    { mcpServers: { a: { command: 'x', args: [1] } } },
    'holdfast.json:6: "mcpServers.a.args[0]" must be a string.',
  ],
  [
    { mcpServers: { a: { url: 'example.com' } } },
    'holdfast.json:4: "example.com" is not a URL of an MCP server',
  ],
  [
    { mcpServers: { a: { command: 'x', task: 'maybe' } } },
    'holdfast.json:5: "mcpServers.a.task" must be one of "auto", "always", "required", "never".',
  ],
  [{ mcpServers: { a: { command: 'x', deadline: 'soon' } } }, 'holdfast.json:5: "soon" is not a duration'],
  [
    { mcpServers: { a: { command: 'x', env: { T: variable('HOLDFAST_TEST_UNSET') } } } },
    'holdfast.json:6: "a" needs the environment variable HOLDFAST_TEST_UNSET, which is not set.',
  ],
  [
    { mcpServers: { a: { command: 'x', tools: { t: { retry: 3, idempotent: false } } } } },
    'holdfast.json:7: calls that are not idempotent are not retried',
  ],
  [
    { mcpServers: {}, limits: { callsPerMinut: 1 } },
    'holdfast.json:4: unknown key "callsPerMinut" in "limits": did you mean "callsPerMinute"?',
  ],
  [
    { mcpServers: {}, plainClients: 'later' },
    'holdfast.json:3: "plainClients" must be one of "hand-over", "wait".',
  ],
  [{ commands: { 'a b': { command: 'x' } } }, 'holdfast.json:3: "a b" is not a valid name'],
  [{ commands: { a: { args: [] } } }, 'holdfast.json:3: "a" needs a "command".'],
  [{ commands: { a: { command: 'x', retry: 2 } } }, 'holdfast.json:5: "retry" needs "idempotent": true'],
  [
    { commands: { a: { command: 'x', args: ['-n', '{count}'] } } },
    'holdfast.json:7: {count} is not a property of the inputSchema',
  ],
  [
    { commands: { a: { command: 'x', inputSchema: { type: 'string' } } } },
    'holdfast.json:5: "inputSchema" must have "type": "object".',
  ],
])('a mistake is reported with the line and the reason: %j', (config, message) => {
  expect(() => readJson(config)).toThrow(message);
});

test('the nearest known word is suggested only for a likely typo', () => {
  expect(nearest('conccurency', ['concurrency', 'command'])).toBe('concurrency');
  expect(nearest('zebra', ['concurrency', 'command'])).toBeUndefined();
});

test('the configs in docs/gateway.md are valid', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/gateway.md'), 'utf8');
  const configs = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => read(text!));
  expect(configs).toHaveLength(2);
  expect(configs[1]).toMatchObject({
    upstreams: { search: { tools: { find: { idempotent: true } } } },
    commands: { build: { args: ['--jobs={jobs}', '{target}'] } },
  });
});
