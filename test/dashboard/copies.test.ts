import { execFileSync } from 'node:child_process';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { curlOf, holdfastCallOf, quoted, requestOf } from '../../dashboard/src/task/copies.ts';
import type { Json } from '../../src/model/json.ts';
import type { TaskDetails } from '../../src/operator/api.ts';
import { examples } from './browser/examples.ts';

function detailsOf(tool: string, given: Json): TaskDetails {
  const [first] = examples;
  return { ...first!, task: { ...first!.task, tool }, arguments: given };
}

/** The arguments that a shell passes to a command of this name. */
function wordsFor(name: string, command: string): string[] {
  const script = `${name}() { printf '%s\\0' "$@"; }\n${command}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

test.each(['plain', '', "it's", '$(touch x)', '`a` "b" \\c', 'two\nlines', '--help', '{"a":"\u00e9"}'])(
  'a shell takes %j as it was meant',
  (text) => {
    expect(wordsFor('show', `show ${quoted(text)}`)).toEqual([text]);
  },
);

test('a call as `holdfast call`', () => {
  const command = holdfastCallOf(detailsOf('greet', { name: "O'Neill" }), 'http://127.0.0.1:7420/mcp')!;
  expect(wordsFor('holdfast', command)).toEqual([
    'call',
    'http://127.0.0.1:7420/mcp',
    'greet',
    `{"name":"O'Neill"}`,
  ]);
});

test('resources, prompts and upstream tools are called by the names that callers use', () => {
  expect(requestOf(detailsOf('resource/report', { uri: 'report://daily', variables: {} }))).toMatchObject({
    method: 'resources/read',
    params: { uri: 'report://daily' },
  });
  expect(requestOf(detailsOf('prompt/review', { pr: '7' }))).toMatchObject({
    method: 'prompts/get',
    params: { name: 'review', arguments: { pr: '7' } },
  });
  expect(requestOf(detailsOf('upstream/files', { name: 'read', arguments: { path: 'a' } }))).toMatchObject({
    method: 'tools/call',
    params: { name: 'read', arguments: { path: 'a' } },
  });
  expect(holdfastCallOf(detailsOf('resource/report', {}), 'http://x/mcp')).toBeUndefined();
});

test('a server answers the copied curl command', async () => {
  const greet = durableTool(
    'greet',
    { inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => `Hello, ${name}.`,
  );
  const tasks = createTasks({ tools: [greet], store: sqlite('memory:') });
  const factory = () => {
    const mcp = new McpServer({ name: 'greeter', version: '1' });
    tasks.attach(mcp);
    return mcp;
  };
  const server = await serveHttp(tasks, factory, { port: 0, stopOn: [] });
  onTestFinished(() => server.stop());
  await tasks.work();
  const [url, ...options] = wordsFor('curl', curlOf(detailsOf('greet', { name: "O'Neill" }), server.url));
  const of = (flag: string) => options.filter((_, i) => options[i - 1] === flag);
  const headers = of('-H').map((header) => header.split(/: (.*)/s).slice(0, 2) as [string, string]);
  const response = await fetch(url!, {
    method: 'POST',
    headers: headers.filter(([name]) => name !== 'Authorization'),
    body: of('-d')[0]!,
  });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain("Hello, O'Neill.");
});
