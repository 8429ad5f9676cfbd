/** Content from tools, callers and other servers is only ever text, and the policy is a second line of defence. */

import { fromJsonSchema } from '@modelcontextprotocol/server';
import { durableTool } from 'holdfast';
import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../../src/model/json.ts';
import type { TaskDetails } from '../../../src/operator/api.ts';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { startDashboard } from './dashboard.ts';
import { examples } from './examples.ts';
import { serveDetails } from './fixed-server.ts';
import { openEverything, strangers, tryEverything } from './in-page.ts';

/** Texts that are harmful if any of them is interpreted. */
const attacks: readonly string[] = [
  '<script>window.harmed=1;alert(1)</script>',
  '<img src=x onerror="window.harmed=1;alert(1)">',
  '<img src="https://elsewhere.example/pixel.png">',
  '<svg onload="window.harmed=1;alert(1)"></svg>',
  '<svg><script>window.harmed=1</script></svg>',
  '<iframe srcdoc="<script>parent.harmed=1</script>"></iframe>',
  '<iframe src="javascript:parent.harmed=1"></iframe>',
  '<a href="javascript:window.harmed=1">press</a>',
  '<body onload=window.harmed=1>',
  '<style>@import url("https://elsewhere.example/style.css");</style>',
  '<link rel=stylesheet href="https://elsewhere.example/style.css">',
  '<form action="https://elsewhere.example/"><button>press</button></form>',
  '<math><mi xlink:href="javascript:window.harmed=1">press</mi></math>',
  '<details open ontoggle="window.harmed=1">',
  '<input autofocus onfocus="window.harmed=1">',
  '<template><script>window.harmed=1</script></template>',
  '"><script>window.harmed=1</script>',
  "'-window.harmed=1-'",
  '</textarea><script>window.harmed=1</script>',
  '</title><script>window.harmed=1</script>',
  '<!--><script>window.harmed=1</script>-->',
  '{{constructor.constructor("window.harmed=1")()}}',
  '\u202e<script>window.harmed=1</script>',
  '<noscript><p title="</noscript><img src=x onerror=window.harmed=1>">',
];

/** The same in Markdown. */
const markdownAttacks = `# Heading <script>window.harmed=1</script>

[press](javascript:window.harmed=1) [press](data:text/html,<script>window.harmed=1</script>)
[press](JaVaScRiPt:window.harmed=1) [press](java&#115;cript:window.harmed=1)
<javascript:window.harmed=1>
![pixel](https://elsewhere.example/pixel.png)
![pixel](x" onerror="window.harmed=1)
[ref]

[ref]: javascript:window.harmed=1 "title"

| <img src=x onerror=window.harmed=1> | b |
|---|---|
| <script>window.harmed=1</script> | c |

- <img src=x onerror=window.harmed=1>

<div onclick="window.harmed=1">

**bold**

</div>

${'`'.repeat(3)}html
<script>window.harmed=1</script>
${'`'.repeat(3)}
`;

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

/** Records everything that a page should never do. */
async function watched(origin: string): Promise<{ context: BrowserContext; harm: string[] }> {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const harm: string[] = [];
  context.on('page', (page) => {
    page.on('dialog', (dialog) => {
      harm.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith('data:')) harm.push(`request: ${url}`);
    });
    page.on('pageerror', ({ message }) => harm.push(`error: ${message}`));
    page.on('popup', (popup) => harm.push(`popup: ${popup.url()}`));
  });
  return { context, harm };
}

const harmed = (page: Page) => page.evaluate<unknown>('window.harmed');

const hostileSchema: JsonObject = {
  type: 'object',
  properties: Object.fromEntries(
    attacks.map((attack, i) => [
      attack,
      i % 3 === 0
        ? { type: 'string', title: attack, description: attack, default: attack }
        : i % 3 === 1
          ? { type: 'string', enum: [attack, 'b'], enumNames: [attack, attack] }
          : { type: 'array', items: { anyOf: [{ const: attack, title: attack }] }, title: attack },
    ]),
  ),
};

const relay = durableTool(
  'relay',
  { inputSchema: z.object({ texts: z.array(z.string()), markdown: z.string() }) },
  async ({ texts, markdown }, task) => {
    for (const text of texts) await task.step(text, () => ({ [text]: text }));
    task.progress(1, 2, texts[0]);
    await task.ask('how', { message: texts.join('\n'), schema: fromJsonSchema(hostileSchema) });
    return {
      content: [
        ...texts.map((text) => ({ type: 'text' as const, text })),
        { type: 'text' as const, text: markdown },
        {
          type: 'image' as const,
          mimeType: 'image/svg+xml',
          data: btoa(
            '<svg xmlns="http://www.w3.org/2000/svg" onload="top.harmed=1"><script>top.harmed=1</script><image href="https://elsewhere.example/x.png"/></svg>',
          ),
        },
        { type: 'image' as const, mimeType: 'text/html', data: btoa(attacks[0]!) },
        {
          type: 'resource' as const,
          resource: { uri: 'javascript:window.harmed=1', mimeType: 'text/html', text: attacks.join('\n') },
        },
        { type: 'resource_link' as const, uri: 'javascript:window.harmed=1', name: attacks[1]! },
      ],
    };
  },
);

test('hostile arguments, steps, messages, questions and results are shown as text', async () => {
  const dashboard = await startDashboard({ tools: [relay] });
  const { context, harm } = await watched(new URL(dashboard.dashboard).origin);
  const { id } = await dashboard.tasks.create(relay, { texts: [...attacks], markdown: markdownAttacks });
  await expect.poll(async () => (await dashboard.story(id)).questions.length).toBe(1);
  const page = await dashboard.open(context, id);
  await page.locator('.form').waitFor();
  await page.evaluate(openEverything);
  const asked = await page.locator('.question-text').innerText();
  for (const attack of attacks) expect(asked).toContain(attack);
  expect(await page.evaluate<string[]>(strangers)).toEqual([]);

  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.locator('.text-block').first().waitFor();
  await page.evaluate(openEverything);
  const result = await page.getByRole('region', { name: 'Result' }).innerText();
  for (const attack of attacks) expect(result).toContain(attack);
  for (const press of await page.locator('.markdown a').all())
    expect(await press.getAttribute('rel')).toBe('noopener noreferrer nofollow');
  expect(await page.evaluate<string[]>(strangers)).toEqual([]);
  expect(await harmed(page)).toBeUndefined();
  expect(harm).toEqual([]);
});

/** Details that our server would reject, but another one might send. */
function hostileDetails(attack: string, id: string): TaskDetails {
  const [first] = examples;
  const text = JSON.stringify(first).replaceAll(
    /"(harbour-7#4121|publish_report|summarise|ann@example.com|Drafting chapter 3 of 4|2026-07-28|tools\/call|Collecting|created)"/g,
    (whole, word) => (word === 'created' ? whole : JSON.stringify(`${word} ${attack}`)),
  );
  const details = JSON.parse(text) as TaskDetails;
  return {
    ...details,
    task: { ...details.task, id, problem: attack, blocked: attack },
    ancestors: [{ id: attack, tool: attack }],
    retryOf: attack,
    outcome: { kind: 'failure', message: attack, data: { [attack]: attack } },
    questions: [
      {
        key: attack,
        state: 'open',
        askedAt: details.task.createdAt,
        request: {
          kind: 'url',
          message: attack,
          url: `javascript:window.harmed=1//${attack}`,
          elicitationId: attack,
        },
      },
      {
        key: 'roots',
        state: 'open',
        askedAt: 1,
        request: { kind: 'sampling', params: { messages: [], maxTokens: 1, systemPrompt: attack } },
      },
    ],
    audit: [
      {
        at: 1,
        action: 'operator',
        by: 'caller',
        owner: attack,
        taskId: attack,
        reason: attack,
        details: { a: attack },
      },
    ],
  };
}

test('hostile names of tools, owners, processes and tasks are shown as text', async () => {
  const texts = Array.from({ length: 6 }, (_, i) => attacks.slice(i * 4, i * 4 + 4).join(' '));
  const { origin, pageOf } = await serveDetails(texts.map((text, i) => hostileDetails(text, `hostile-${i}`)));
  const { context, harm } = await watched(origin);
  const page = await context.newPage();
  const found: unknown[] = [];
  for (const [i, text] of texts.entries()) {
    await page.goto('about:blank');
    await page.goto(pageOf(`hostile-${i}`));
    expect(await page.locator('.task-head h1').innerText()).toContain(text);
    await page.evaluate(openEverything);
    found.push(...(await page.evaluate<string[]>(strangers)));
    if (await harmed(page)) found.push(text);
  }
  expect(found).toEqual([]);
  expect(harm).toEqual([]);
});

test('in the browser, the policy forbids inline scripts and everything from other hosts', async () => {
  const { pageOf } = await serveDetails(examples);
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const response = await page.goto(pageOf('task-completed'));
  await page.locator('.task-head').waitFor();
  const policy = response!.headers()['content-security-policy']!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);

  const tried = await page.evaluate<{ isRefused: boolean; blocked: string[] }>(tryEverything);
  expect(tried.isRefused).toBe(true);
  expect(tried.blocked).toEqual([
    'connect-src',
    'frame-src',
    'img-src',
    'script-src-attr',
    'script-src-elem',
    'style-src-elem',
  ]);
  expect(await harmed(page)).toBeUndefined();
});
