/** The environment of programs that the gateway starts never contains the gateway's own secrets. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { beforeEach, expect, test, vi } from 'vitest';
import { storeSecrets } from '../../src/cli/store-url.ts';
import { inheritedEnvironment } from '../../src/client/transports/stdio.ts';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { temporaryFolder } from '../kit/lifetime.ts';
import { textOf } from '../kit/text.ts';
import { openGateway } from './stage.ts';

const home = temporaryFolder();
const program = join(import.meta.dirname, '../../bin/holdfast.js');
const raw = [
  '--disable-warning=ExperimentalWarning',
  join(import.meta.dirname, 'servers/raw.ts'),
  ...['--tools', '["environment"]'],
];

beforeEach(() => {
  vi.stubEnv('HOLDFAST_OPERATOR_TOKEN', 'secret of the operator');
  vi.stubEnv('SEARCH_TOKEN', 'secret of the user');
  return () => vi.unstubAllEnvs();
});

const environmentIn = (result: Record<string, unknown>) =>
  JSON.parse(textOf(result)) as Record<string, string>;

test('a server in a config gets the basic variables and its own, and nothing else', async () => {
  await using stage = await openGateway({
    mcpServers: { raw: { command: process.execPath, args: raw, env: { LOCATION: 'here' } } },
  });
  await using client = await connectOurClient(stage.url);
  const environment = environmentIn(await client.tasks.callTool({ name: 'environment' }));
  expect(environment).toMatchObject({ LOCATION: 'here', PATH: process.env.PATH });
  expect(environment).not.toHaveProperty('SEARCH_TOKEN');
  expect(environment).not.toHaveProperty('HOLDFAST_OPERATOR_TOKEN');
});

test("a command gets the environment of the gateway without the gateway's own settings", async () => {
  await using stage = await openGateway({
    commands: {
      environment: { command: process.execPath, args: ['-p', 'JSON.stringify(process.env)'] },
    },
  });
  await using client = await connectOurClient(stage.url);
  const environment = environmentIn(await client.tasks.callTool({ name: 'environment' }));
  expect(environment).toMatchObject({ SEARCH_TOKEN: 'secret of the user' });
  expect(environment).not.toHaveProperty('HOLDFAST_OPERATOR_TOKEN');
});

const ours = () => ({ ...(process.env as Record<string, string>), XDG_DATA_HOME: home, HOME: home });

test('a server on the command line gets the same environment', async () => {
  const args = [program, 'serve', '--stdio', '--store', 'memory:', '--', process.execPath, ...raw];
  const open = () => new StdioClientTransport({ command: process.execPath, args, env: ours(), cwd: home });
  await using client = await connectOurClient(open);
  const environment = environmentIn(await client.tasks.callTool({ name: 'environment' }));
  expect(environment).toMatchObject({ SEARCH_TOKEN: 'secret of the user' });
  expect(environment).not.toHaveProperty('HOLDFAST_OPERATOR_TOKEN');
});

test('a server that holdfast call starts gets the same environment', async () => {
  const words = ['call', 'environment', '--json', '--', process.execPath, ...raw];
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...words], {
    env: ours(),
    cwd: home,
  });
  expect(stdout).toContain('secret of the user');
  expect(stdout).not.toContain('secret of the operator');
});

test('variables that contain the Postgres password are hidden', () => {
  const url = 'postgres://me:sesame@db.example/tasks';
  vi.stubEnv('PGPASSWORD', 'other');
  vi.stubEnv('DATABASE_URL', url);
  vi.stubEnv('DATABASE_PASSWORD', 'sesame');
  const hidden = ['PGPASSWORD', 'DATABASE_URL', 'DATABASE_PASSWORD'];
  for (const name of hidden) expect(inheritedEnvironment(storeSecrets(url))).not.toHaveProperty(name);
  for (const name of hidden) expect(inheritedEnvironment(storeSecrets(undefined))).toHaveProperty(name);
  expect(inheritedEnvironment(storeSecrets(url))).toMatchObject({ SEARCH_TOKEN: 'secret of the user' });
});
