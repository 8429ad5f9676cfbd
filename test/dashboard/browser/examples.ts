/** Example details of tasks, one for each relevant state of a task's page. */
import type { JsonObject } from '../../../src/model/json.ts';
import type { PassSpan, Question, TaskDetails, TaskSummary } from '../../../src/operator/api.ts';
import * as example from '../../kit/stories.ts';
import { call } from '../../kit/stories.ts';

export const present = Date.UTC(2026, 7, 12, 14, 30, 0);

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

export function summary(given: Partial<TaskSummary> & { id: string }): TaskSummary {
  const times = { createdAt: present - minute, updatedAt: present - second };
  return example.summary({ owner: 'ann@example.com', toolVersion: '3', version: 12, ...times, ...given });
}

export function detailsOf(task: TaskSummary, given: Partial<TaskDetails> = {}): TaskDetails {
  const { createdAt, finishedAt } = task;
  const reported = { progress: { done: 1, total: 4 }, message: 'Collecting' };
  return example.story({
    task,
    arguments: { topic: 'Tides of the North Sea', pages: 12, sources: ['almanac', 'harbour office'] },
    purgeAt: finishedAt === undefined ? null : finishedAt + 24 * hour,
    events: [
      { version: 1, at: createdAt, event: { type: 'created' } },
      { version: 2, at: createdAt + 8, event: { type: 'claimed', epoch: 1, worker: 'harbour-7#4121' } },
      { version: 3, at: createdAt + 900, event: { type: 'recorded', entries: 2 } },
      { version: 4, at: createdAt + 1_800, event: { type: 'reported', ...reported } },
    ],
    audit: [
      {
        at: createdAt,
        action: 'created',
        owner: task.owner,
        taskId: task.id,
        by: 'caller',
        dialect: '2026-07-28',
      },
    ],
    ...given,
  });
}

export function pass(given: Partial<PassSpan> & Pick<PassSpan, 'from'>): PassSpan {
  return example.pass({ worker: 'harbour-7#4121', ...given });
}

const chapters = ['Springs', 'Neaps', 'Surges', 'Harbours'];

/** A process was killed in the middle; another one resumed without repeating completed steps. */
function crashed(): TaskDetails {
  const t = present - 3 * minute;
  const at = (s: number) => t + s * second;
  const family = { tool: 'summarise', parentId: 'task-crashed', rootId: 'task-crashed' };
  const child = (id: string, given: Partial<TaskSummary>) => summary({ id, ...family, ...given });
  return detailsOf(
    summary({
      id: 'task-crashed',
      createdAt: t,
      statusMessage: 'Drafting chapter 3 of 4',
      progress: { done: 3, total: 4, message: 'Drafting chapter 3 of 4' },
      passes: 2,
      childCount: 2,
      liveChildCount: 1,
    }),
    {
      worker: { name: 'harbour-9#233', leaseUntil: present + 20 * second },
      passes: [
        pass({ from: at(0.2), to: at(61), end: 'crashed' }),
        pass({ number: 2, worker: 'harbour-9#233', from: at(74), replayed: 7 }),
      ],
      calls: [
        call({ name: 'find sources', from: at(0.4), to: at(8), value: { found: 14, kept: 3 } }),
        call({
          name: 'fetch the almanac',
          from: at(8),
          to: at(31),
          attempts: [
            { at: at(11), message: 'connect ETIMEDOUT 203.0.113.7:443', retryAt: at(14) },
            { at: at(18), message: 'HTTP 503: the tide office is closed', retryAt: at(26) },
          ],
          value: { bytes: 48_211 },
        }),
        call({ name: 'outline', from: at(31), to: at(39), value: chapters }),
        call({ kind: 'start', name: 'summarise', from: at(39), to: at(39.1), childId: 'task-child-1' }),
        call({ kind: 'start', name: 'summarise', from: at(39.2), to: at(39.3), childId: 'task-child-2' }),
        call({ name: 'draft chapter 1', from: at(40), to: at(49), value: 'The spring tide…' }),
        call({ name: 'draft chapter 2', from: at(49), to: at(97), value: 'Neap tides…' }),
        call({ name: 'draft chapter 3', from: at(97), to: null, pass: 2 }),
      ],
      children: [
        child('task-child-1', { status: 'completed', createdAt: at(39), finishedAt: at(72) }),
        child('task-child-2', { createdAt: at(39.2) }),
      ],
    },
  );
}

const report = `# Tides of the North Sea

The **spring tide** of 12 August comes at 14:04, see [the almanac](https://almanac.example/tides).

| Harbour | High | Low |
|---|---|---|
| Husum | 14:04 | 20:11 |
| Wilhelmshaven | 13:12 | 19:20 |

- [x] checked against the gauge
- [ ] proofread

> Figures are without warranty.

\`\`\`ts
const height = mean + amplitude * Math.cos(phase);
\`\`\``;

const curve = `<svg xmlns="http://www.w3.org/2000/svg" width="360" height="120"><path d="M0 60C30 0 60 0 90 60s60 60 90 0 60-60 90 0 60 60 90 0" fill="none" stroke="#0f766e" stroke-width="3"/></svg>`;

/** Completed after hours: a night of sleep, a question, a rich result. */
function completed(): TaskDetails {
  const t = present - 14 * hour;
  const at = (s: number) => t + s * second;
  const asked = at(9 * 3_600);
  const end = asked + 41 * minute;
  const answered = end - 12 * second;
  const approval = { kind: 'ask', name: 'approval', key: 'approval', pass: 2 } as const;
  const url = 'https://x.example';
  return detailsOf(
    summary({
      id: 'task-completed',
      createdAt: t,
      finishedAt: end,
      updatedAt: end,
      status: 'completed',
      passes: 3,
      progress: { done: 4, total: 4 },
    }),
    {
      retryOf: 'task-failed-earlier',
      passes: [
        pass({ from: at(0.1), to: at(42), end: 'parked' }),
        pass({ number: 2, from: asked - 3 * second, to: asked + second, end: 'parked', replayed: 3 }),
        pass({ number: 3, worker: 'harbour-9#233', from: answered, to: end, end: 'ended', replayed: 5 }),
      ],
      calls: [
        call({ name: 'find sources', from: at(0.4), to: at(18), value: { found: 14 } }),
        call({ name: 'draft', from: at(18), to: at(41), value: 'A draft of 12 pages' }),
        call({ kind: 'sleep', name: 'until the morning', from: at(41), to: asked - 3 * second, due: asked }),
        call({ ...approval, from: asked, to: answered, value: { action: 'accept' } }),
        call({ name: 'publish', from: answered + second, to: end - second, pass: 3, value: { url } }),
      ],
      questions: [
        {
          key: 'approval',
          state: 'answered',
          askedAt: asked,
          settledAt: answered,
          request: {
            kind: 'form',
            message: 'Publish “Tides of the North Sea”?',
            schema: {
              type: 'object',
              properties: {
                audience: {
                  type: 'string',
                  title: 'For whom',
                  oneOf: [{ const: 'all', title: 'Everybody' }],
                },
                notify: { type: 'boolean', title: 'Tell subscribers' },
                remark: { type: 'string', title: 'Remark' },
              },
            },
          },
          response: {
            action: 'accept',
            content: { audience: 'all', notify: true, remark: 'Check the figures for Husum first.' },
          },
        },
      ],
      outcome: {
        kind: 'result',
        isError: false,
        value: {
          content: [
            { type: 'text', text: report },
            { type: 'image', mimeType: 'image/svg+xml', data: btoa(curve) },
            {
              type: 'resource',
              resource: {
                uri: 'file:///reports/tides.csv',
                mimeType: 'text/csv',
                text: 'harbour,high\nHusum,14:04',
              },
            },
            {
              type: 'resource_link',
              uri: 'https://reports.example/tides.pdf',
              name: 'tides.pdf',
              title: 'The report as PDF',
              mimeType: 'application/pdf',
              size: 482_113,
            },
          ],
          structuredContent: {
            url: 'https://reports.example/tides',
            pages: 12,
            published: true,
            apiKey: '[redacted]',
            chapters,
          },
        },
      },
    },
  );
}

const everyField: JsonObject = {
  type: 'object',
  properties: {
    title: {
      type: 'string',
      title: 'Title',
      description: 'As it stands on the cover.',
      minLength: 3,
      maxLength: 80,
    },
    abstract: { type: 'string', title: 'Abstract', maxLength: 1_000 },
    mail: { type: 'string', title: 'Where to send it', format: 'email' },
    day: { type: 'string', title: 'On which day', format: 'date' },
    copies: { type: 'integer', title: 'Copies', minimum: 1, maximum: 500, default: 20 },
    colour: { type: 'boolean', title: 'In colour' },
    paper: {
      type: 'string',
      title: 'Paper',
      oneOf: [
        { const: 'plain', title: 'Plain' },
        { const: 'fine', title: 'Fine, 120 g' },
      ],
      default: 'plain',
    },
    extras: {
      type: 'array',
      title: 'Extras',
      items: { type: 'string', enum: ['cover', 'index', 'map'] },
      maxItems: 2,
    },
  },
  required: ['title', 'mail', 'copies', 'colour'],
};

function asking(id: string, request: Question['request']): TaskDetails {
  const t = present - 26 * minute;
  const asked = t + 20 * second;
  return detailsOf(
    summary({
      id,
      tool: 'print_report',
      createdAt: t,
      status: 'waiting',
      openQuestions: 1,
      statusMessage: 'Waiting for the order',
    }),
    {
      passes: [pass({ from: t + 90, to: asked + 400, end: 'parked' })],
      calls: [
        call({ name: 'typeset', from: t + 400, to: asked - 200, value: { pages: 12 } }),
        call({ kind: 'ask', name: 'order', key: 'order', from: asked, to: null }),
      ],
      questions: [{ key: 'order', state: 'open', askedAt: asked, request }],
    },
  );
}

function failed(): TaskDetails {
  const t = present - 2 * hour;
  const end = t + 95 * second;
  const problem =
    'publish: HTTP 409: a report of this name exists already. Delete it, or choose another name.';
  return detailsOf(
    summary({ id: 'task-failed', createdAt: t, finishedAt: end, status: 'failed', problem, passes: 1 }),
    {
      passes: [pass({ from: t + 90, to: end, end: 'ended' })],
      calls: [
        call({ name: 'find sources', from: t + 400, to: t + 9 * second, value: 14 }),
        call({
          name: 'publish',
          from: t + 10 * second,
          to: end,
          state: 'failed',
          error: 'HTTP 409: a report of this name exists already',
          attempts: [{ at: t + 20 * second, message: 'HTTP 409', retryAt: t + 60 * second }],
        }),
      ],
      outcome: { kind: 'result', isError: true, value: { content: [{ type: 'text', text: problem }] } },
    },
  );
}

function manySteps(): TaskDetails {
  const t = present - 10 * minute;
  const calls = Array.from({ length: 420 }, (_, i) =>
    call({
      name: `fetch page ${i + 1}`,
      from: t + i * 1_300,
      to: i === 419 ? null : t + i * 1_300 + 1_200,
      ...(i === 211 && { state: 'failed' as const, error: 'HTTP 404' }),
    }),
  );
  return detailsOf(
    summary({ id: 'task-many', tool: 'crawl', createdAt: t, progress: { done: 419, total: 1_000 } }),
    {
      worker: { name: 'harbour-7#4121', leaseUntil: present + 20 * second },
      passes: [pass({ from: t + 10 })],
      calls,
    },
  );
}

function hidden(): TaskDetails {
  const t = present - 4 * minute;
  return detailsOf(
    summary({
      id: 'task-hidden',
      tool: 'pay_invoice',
      createdAt: t,
      finishedAt: t + 12 * second,
      status: 'completed',
      parentId: 'task-completed',
      rootId: 'task-completed',
    }),
    {
      ancestors: [{ id: 'task-completed', tool: 'publish_report' }],
      arguments: '[redacted]',
      passes: [pass({ from: t + 90, to: t + 12 * second, end: 'ended' })],
      calls: [call({ name: 'pay', from: t + 100, to: t + 11 * second, value: '[redacted]' })],
      outcome: { kind: 'result', isError: false, value: '[redacted]' },
    },
  );
}

const form: Question['request'] = {
  kind: 'form',
  message: 'How should “Tides of the North Sea” be printed?',
  schema: everyField,
};

export const examples: readonly TaskDetails[] = [
  crashed(),
  completed(),
  asking('task-asking', form),
  asking('task-link', {
    kind: 'url',
    message: 'The printer wants you to sign in.',
    url: 'https://accounts.printer.example/authorise?client=holdfast&state=7f3a',
    elicitationId: 'e1',
  }),
  asking('task-sampling', {
    kind: 'sampling',
    params: {
      systemPrompt: 'You are a typesetter.',
      maxTokens: 200,
      messages: [
        { role: 'user', content: { type: 'text', text: 'Shorten the *abstract* to one sentence.' } },
      ],
    },
  }),
  failed(),
  manySteps(),
  hidden(),
  detailsOf(summary({ id: 'task-queued', status: 'queued', passes: 0, createdAt: present - 7 * second }), {
    events: [{ version: 1, at: present - 7 * second, event: { type: 'created' } }],
    audit: [],
  }),
  detailsOf(
    summary({
      id: 'task-lost',
      status: 'lost',
      createdAt: present - 3 * hour,
      finishedAt: present - 2 * hour,
      problem: 'The upstream does not know the call any more.',
    }),
    {
      passes: [pass({ from: present - 3 * hour, to: present - 2 * hour, end: 'ended' })],
      outcome: { kind: 'lost', message: 'The upstream does not know the call any more.' },
    },
  ),
];

/** Tasks that differ only in their headlines. */
export const restingExamples: readonly TaskDetails[] = [
  detailsOf(summary({ id: 'task-resting', childCount: 3, liveChildCount: 1, passes: 2 })),
  detailsOf(summary({ id: 'task-sleeping' }), { wakeAt: present + 90 * second }),
  detailsOf(summary({ id: 'task-silent' }), {
    worker: { name: 'harbour-7', leaseUntil: present - 40 * second },
  }),
];
