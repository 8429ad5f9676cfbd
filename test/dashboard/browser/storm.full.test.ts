/** 500 changes a second for ten seconds: the list stays usable, and neither side buffers more than it shows. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ChangeMessage } from '../../../src/operator/api.ts';
import { expectWithin } from '../../kit/within.ts';
import type { Chromium } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { type Dashboard, operatorToken, rowOf, startDashboard } from './dashboard.ts';

let chromium: Chromium;
beforeAll(async () => {
  chromium = await sharedChromium();
});

const perSecond = 500;
const seconds = 10;

test('no main-thread task uses more than 200 ms of CPU time', { timeout: 300_000 }, async () => {
  const server = await startDashboard({ works: false });
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(server.address('?view=tasks'));
  await page.getByText('No tasks yet').waitFor();

  const messages = listen(server);
  const longest = await longestTask(page, async () => {
    await storm(server);
    const { id } = await server.tasks.create('greet', { name: 'after the storm' });
    await rowOf(page, id).waitFor();
  });
  const { count, largest, ms } = await messages.stop();
  // The server collects changes: a few messages a second, each with a limited number of tasks.
  expect(count).toBeLessThanOrEqual(ms / 250 + 5);
  expect(largest).toBeLessThanOrEqual(200);
  expect(await page.locator('.row').count()).toBeLessThan(80);
  console.log(`The longest main-thread task used ${longest.toFixed(0)} ms.`);
  expectWithin(200, longest);
});

test('the measurement detects a long task', async () => {
  const context = await chromium.context();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const longest = await longestTask(page, async () => {
    await page.evaluate('for (const start = performance.now(); performance.now() < start + 2000; );');
  });
  expect(longest).toBeGreaterThan(100);
});

/** Creates tasks, and cancels every other one at once. No worker takes any. */
async function storm({ tasks }: Dashboard): Promise<void> {
  const startedAt = performance.now();
  let changes = 0;
  while (changes < perSecond * seconds) {
    const due = Math.min(
      perSecond * seconds,
      Math.floor(((performance.now() - startedAt) / 1_000) * perSecond),
    );
    await Promise.all(
      Array.from({ length: Math.ceil(Math.max(0, due - changes) / 2) }, async () => {
        changes += 2;
        const { id } = await tasks.create('sleep');
        if (changes % 4 === 0) await tasks.cancel(id);
        else await tasks.create('sleep');
      }),
    );
    await pause(20);
  }
}

/** Receives the same changes as the dashboard. */
function listen(server: Dashboard) {
  const abort = new AbortController();
  const startedAt = performance.now();
  let count = 0;
  let largest = 0;
  const received = (async () => {
    const response = await fetch(server.address('api/changes', { withToken: false }), {
      headers: { authorization: `Bearer ${operatorToken}` },
      signal: abort.signal,
    });
    let rest = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + chunk).split('\n\n');
      rest = frames.pop()!;
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data === undefined) continue;
        const message: ChangeMessage = JSON.parse(data);
        count++;
        if (message.type === 'changes') largest = Math.max(largest, message.tasks.length);
      }
    }
  })().catch(() => {});
  return {
    stop: async () => {
      abort.abort();
      await received;
      return { count, largest, ms: performance.now() - startedAt };
    },
  };
}

/** Measured by the thread's CPU time in the browser's trace, so that other processes do not affect it. */
async function longestTask(page: Page, during: () => Promise<void>): Promise<number> {
  const browser = page.context().browser()!;
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] });
  await during();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const times = traceEvents
    .filter(({ pid, tid, tdur }) => tdur !== undefined && mains.has(`${pid}/${tid}`))
    .map(({ tdur }) => tdur! / 1_000);
  expect(times.length, 'tasks that the browser traced').toBeGreaterThan(0);
  return Math.max(...times);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** The thread's own time, in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}
