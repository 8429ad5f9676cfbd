/** `holdfast call` and `holdfast tasks` with faulty servers. */
import { expect, onTestFinished, test } from 'vitest';
import {
  completed,
  created,
  HostileServer,
  Raw,
  type Revision,
  revisions,
  type Says,
  task,
} from '../techniques/hostile/server.ts';
import { normalised } from './normalised.ts';
import { Home } from './terminal.ts';

const capabilities = {
  tools: {},
  tasks: { requests: { tools: { call: {} } } },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};
const done = { resultType: 'complete', content: [{ type: 'text', text: 'done' }] };

async function serving(revision: Revision, says: Readonly<Record<string, Says>>): Promise<HostileServer> {
  const server = await new HostileServer(revision, says, capabilities).listen();
  onTestFinished(() => server.close());
  return server;
}

test.each(revisions)(
  'a call that gives up prints how to resume, and can be resumed, on %s',
  async (revision) => {
    const ttl = revision === '2026-07-28' ? { ttlMs: 500, ttl: undefined } : { ttl: 500, ttlMs: undefined };
    const words = new Raw((response) => response.setHeader('content-type', 'application/json').end('Hello!'));
    const server = await serving(revision, {
      'tools/call': () => created(revision, 'root', ttl),
      'tasks/get': () => words,
      'tasks/result': () => done,
    });
    const home = new Home();
    const { code, stdout, stderr } = await home.run('call', server.url, 't');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(normalised(stderr.trim().split('\n').at(-1)!)).toMatch(
      /^holdfast: Task root is overdue: .+ Resume the call to try again\. Resume with: holdfast tasks watch ID/,
    );
    const [, id] = /tasks watch (\w+)/.exec(stderr)!;
    server.says.set('tasks/get', () => completed('root', done));
    expect(await home.run('tasks', 'result', id!)).toEqual({ code: 0, stdout: 'done\n', stderr: '' });
  },
);

test('a question of an unknown kind ends the command with an error that names the kind', async () => {
  const inputRequests = { dream: { method: 'dreams/tell', params: {} } };
  const server = await serving('2026-07-28', {
    'tasks/get': () => task('root', 'input_required', { inputRequests }),
  });
  const home = new Home();
  const { code, stdout, stderr } = await home.run('call', server.url, 't');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^holdfast: Task root asks a question of an unknown kind, "dreams\/tell", and waits/m,
  );
  const [, id] = /tasks watch (\w+)/.exec(stderr)!;
  server.says.set('tasks/get', () => completed('root', done));
  expect(await home.run('tasks', 'watch', id!)).toMatchObject({ code: 0, stdout: 'done\n' });
});

test('a task that asks a question of an unknown kind can be cancelled', async () => {
  const inputRequests = { dream: { method: 'dreams/tell', params: {} } };
  const server = await serving('2026-07-28', {
    'tasks/get': () => task('root', 'input_required', { inputRequests }),
    'tasks/cancel': () => {
      server.says.set('tasks/get', () => task('root', 'cancelled'));
      return { resultType: 'complete' };
    },
  });
  const home = new Home();
  const { stdout } = await home.run('call', server.url, 't', '--detach');
  const id = stdout.trim();
  expect(await home.run('tasks', 'cancel', id)).toEqual({
    code: 0,
    stdout: `Cancelled ${id}.\n`,
    stderr: '',
  });
});
