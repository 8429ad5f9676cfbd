import { request } from 'node:http';
import { createTasks, durableTool } from 'holdfast';
import { openSqlite } from 'holdfast/sqlite';
import { afterAll, expect, test } from 'vitest';
import { overview } from '../../src/cli/demo/overview.ts';
import { holdfast, servedDemo, tidyUp } from './terminal.ts';

afterAll(tidyUp);

/** As `fetch`, which does not let us choose the host. */
function get(url: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>(
    (resolve, reject) => {
      request(url, { headers }, async (res) => {
        let text = '';
        for await (const chunk of res) text += chunk;
        resolve({ status: res.statusCode!, headers: res.headers, text });
      })
        .on('error', reject)
        .end();
    },
  );
}

test('the page and its tasks are for this machine only, under a strict policy, and show no whole id', async () => {
  const place = await servedDemo();
  const { url } = place;
  const count = holdfast(`demo call count '{"to": 100}'`, place);
  const report = holdfast('demo call report_on_folder', place);
  const failed = holdfast(`demo call run_tests '{"folder": "no-such"}'`, place);
  const [[, counting], [, reporting], [, failing]] = (await Promise.all(
    [count, report, failed].map((call) => call.says(/task (\w{32})/)),
  )) as [RegExpExecArray, RegExpExecArray, RegExpExecArray];
  await count.says(/1 of 100/);
  await Promise.all([report.ended, failed.ended]);

  const list = await get(`${url}/tasks.json`);
  expect(list.status).toBe(200);
  expect(list.headers['content-type']).toBe('application/json');
  const { tasks } = JSON.parse(list.text) as { tasks: Record<string, unknown>[] };
  const shown = tasks.map(({ tool, status, questions, id }) => ({ tool, status, questions, id }));
  const question = 'Write .holdfast/REPORT.md about 6 files, 37 lines, 214 words?';
  expect(shown).toHaveLength(3);
  expect(shown).toEqual(
    expect.arrayContaining([
      { tool: 'count', status: 'running', questions: [], id: counting!.slice(0, 6) },
      { tool: 'report_on_folder', status: 'waiting', questions: [question], id: reporting!.slice(0, 6) },
      { tool: 'run_tests', status: 'failed', questions: [], id: failing!.slice(0, 6) },
    ]),
  );
  expect(list.text).not.toMatch(/[a-z2-7]{32}/);

  const page = await get(url);
  const [, nonce] = /script-src 'nonce-([^']+)'/.exec(String(page.headers['content-security-policy']))!;
  expect(page.headers['content-security-policy']).toBe(
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(page.text.split(`nonce="${nonce}"`)).toHaveLength(3);
  expect((await get(url)).text).not.toContain(nonce);
  expect(page.text).not.toMatch(/[a-z2-7]{32}/);
  expect(page.text).toContain(`holdfast demo call count &#39;{&#34;to&#34;: 30}&#39; --url ${url}/mcp`);

  for (const path of ['/', '/tasks.json']) {
    expect((await get(url + path, { host: 'rebound.example' })).status).toBe(403);
    expect((await get(url + path, { origin: 'https://elsewhere.example' })).status).toBe(403);
    expect((await fetch(url + path, { method: 'POST' })).status).toBe(405);
  }
  expect((await get(`${url}/elsewhere`)).status).toBe(404);
});

test('an id that a tool itself tells is shortened too', async () => {
  const tell = durableTool('tell', {}, async (_, task) => {
    task.progress(1, 2, `I am ${task.id}`);
    await task.ask('q', { message: `Is ${task.id} mine?`, url: 'https://example.com' });
  });
  await using tasks = createTasks({ store: () => openSqlite('memory:'), tools: [tell] });
  const asked = Promise.withResolvers<void>();
  await tasks.subscribe(({ events }) => {
    if (events.some(({ type }) => type === 'asked')) asked.resolve();
  });
  await tasks.work();
  const { id } = await tasks.create(tell);
  await asked.promise;
  const short = id.slice(0, 6);
  expect((await overview(tasks)).tasks).toMatchObject([
    { id: short, status: 'waiting', message: `I am ${short}…`, questions: [`Is ${short}… mine?`] },
  ]);
});
