/** The config file of a gateway: what it may say, and how what is wrong with it is told. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { configIn } from '../../src/gateway/config/config.ts';
import { nearest, parseConfig } from '../../src/gateway/config/config-file.ts';

const read = (text: string) => configIn(parseConfig(text, 'holdfast.json'));
const readJson = (value: object) => read(JSON.stringify(value, null, 2));
/** As a shell and a config file write a variable of the environment. */
const variable = (name: string) => `\${${name}}`;

test('a server is a command or a URL, as hosts write it, with what is for hosts passed over', () => {
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

test('environment and headers take variables, with another value for those that are not set', () => {
  vi.stubEnv('HOLDFAST_TEST_TOKEN', 'secret');
  const { upstreams } = readJson({
    mcpServers: {
      web: {
        url: 'https://example.com/mcp',
        headers: { authorization: `Bearer ${variable('HOLDFAST_TEST_TOKEN')}` },
      },
      own: { command: 'own', env: { PLACE: variable('HOLDFAST_TEST_UNSET:-here') } },
    },
  });
  vi.unstubAllEnvs();
  expect(upstreams.web!.target).toMatchObject({ headers: { authorization: 'Bearer secret' } });
  expect(upstreams.own!.target).toMatchObject({ env: { PLACE: 'here' } });
});

test('a policy holds for a server, and another for some of its tools', () => {
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

test('a command has typed input, and says where each of it goes', () => {
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

test('a mark that some editors write before everything else is passed over', () => {
  expect(read('\ufeff{"commands": {}}').commands).toEqual({});
});

test.each([
  ['{\n  "mcpServers": {\n    "a": { "command": "x", }\n  }\n}', /^holdfast\.json:3: it is not JSON: /],
  ['{\n  "mcpServers": {', /^holdfast\.json:2: it is not JSON: /],
  ['{\n  "mcp": {}\n}', 'holdfast.json:1: it has neither "mcpServers" nor "commands".'],
  ['{"mcpServers": 1}', 'holdfast.json:1: "mcpServers" must be an object.'],
])('a file that is no config is refused with the line: %j', (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test.each([
  [
    { mcpServers: { a: { command: 'x', headrs: {} } } },
    'holdfast.json:5: "mcpServers.a" has no key "headrs": is "headers" meant?',
  ],
  [{ mcpServers: { a: {} } }, 'holdfast.json:3: "a" has neither a "command" nor a "url".'],
  [
    { mcpServers: { a: { command: 'x', url: 'http://x' } } },
    'holdfast.json:3: "a" has both a "command" and a "url": one server is one of them.',
  ],
  [
    { mcpServers: { a: { command: 'x', args: [1] } } },
    'holdfast.json:6: "mcpServers.a.args[0]" must be a text.',
  ],
  [
    { mcpServers: { a: { url: 'example.com' } } },
    'holdfast.json:4: "example.com" is no URL of an MCP server',
  ],
  [
    { mcpServers: { a: { command: 'x', task: 'maybe' } } },
    'holdfast.json:5: "mcpServers.a.task" must be one of "auto", "always", "required", "never".',
  ],
  [{ mcpServers: { a: { command: 'x', deadline: 'soon' } } }, 'holdfast.json:5: "soon" is not a duration'],
  [
    { mcpServers: { a: { command: 'x', env: { T: variable('HOLDFAST_TEST_UNSET') } } } },
    'holdfast.json:6: "a" needs HOLDFAST_TEST_UNSET, which is not in the environment.',
  ],
  [
    { mcpServers: { a: { command: 'x', tools: { t: { retry: 3, idempotent: false } } } } },
    'holdfast.json:7: what is not idempotent is not tried again',
  ],
  [
    { mcpServers: {}, limits: { callsPerMinut: 1 } },
    'holdfast.json:4: "limits" has no key "callsPerMinut": is "callsPerMinute" meant?',
  ],
  [
    { mcpServers: {}, plainClients: 'later' },
    'holdfast.json:3: "plainClients" must be one of "hand-over", "wait".',
  ],
  [{ commands: { 'a b': { command: 'x' } } }, 'holdfast.json:3: "a b" is no name'],
  [{ commands: { a: { args: [] } } }, 'holdfast.json:3: "a" has no "command".'],
  [{ commands: { a: { command: 'x', retry: 2 } } }, 'holdfast.json:5: "retry" needs "idempotent": true'],
  [
    { commands: { a: { command: 'x', args: ['-n', '{count}'] } } },
    'holdfast.json:7: {count} is no property of the inputSchema',
  ],
  [
    { commands: { a: { command: 'x', inputSchema: { type: 'string' } } } },
    'holdfast.json:5: "inputSchema" must have "type": "object".',
  ],
])('what is wrong is told with the line and the reason: %j', (config, message) => {
  expect(() => readJson(config)).toThrow(message);
});

test('the nearest known word is named only if it can be meant', () => {
  expect(nearest('conccurency', ['concurrency', 'command'])).toBe('concurrency');
  expect(nearest('zebra', ['concurrency', 'command'])).toBeUndefined();
});

test('the configs in docs/gateway.md are good ones', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/gateway.md'), 'utf8');
  const configs = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => read(text!));
  expect(configs).toHaveLength(2);
  expect(configs[1]).toMatchObject({
    upstreams: { search: { tools: { find: { idempotent: true } } } },
    commands: { build: { args: ['--jobs={jobs}', '{target}'] } },
  });
});
