/** More examples of task details, in addition to those of the tests. */
import type { HistoryEvent, TaskDetails, TaskSummary } from '../../src/operator/api.ts';
import { detailsOf, pass, present, summary } from '../../test/dashboard/browser/examples.ts';
import { call } from '../../test/kit/stories.ts';

const second = 1_000;
const minute = 60 * second;

/** A running backup with sequential and parallel steps, one of them on its third attempt. */
function running(): TaskDetails {
  const t = present - 4 * minute;
  const at = (s: number) => t + s * second;
  return detailsOf(
    summary({
      id: 'task-running',
      tool: 'nightly_backup',
      owner: 'harbour-office',
      createdAt: t,
      status: 'running',
      statusMessage: 'Copying volume 3 of 5',
      progress: { done: 2, total: 5, message: 'Copying volume 3 of 5' },
    }),
    {
      arguments: { volumes: ['charts', 'logs', 'mail', 'photos', 'tides'], to: 'vault-2', verify: true },
      worker: { name: 'harbour-7#4121', leaseUntil: present + 21 * second },
      passes: [pass({ from: at(0.1) })],
      calls: [
        call({ name: 'freeze the volumes', from: at(0.2), to: at(9), value: { frozen: 5 } }),
        call({
          name: 'copy charts',
          from: at(9),
          to: at(84),
          value: { files: 18_204, bytes: 7_318_442_100 },
        }),
        call({ name: 'copy logs', from: at(9), to: at(146), value: { files: 902, bytes: 31_884_920 } }),
        call({ name: 'verify charts', from: at(84), to: at(112), value: { differences: 0 } }),
        call({ kind: 'sleep', name: 'let the disks cool', from: at(146), to: at(176), due: at(176) }),
        call({
          name: 'copy mail',
          from: at(176),
          to: null,
          attempts: [
            { at: at(188), message: 'EIO: i/o error, read', retryAt: at(190) },
            { at: at(204), message: 'EIO: i/o error, read', retryAt: at(208) },
          ],
        }),
      ],
    },
  );
}

/** A step that failed five times and exhausted its attempts. */
function exhausted(): TaskDetails {
  const t = present - 47 * minute;
  const at = (s: number) => t + s * second;
  const problem = 'charge the card: HTTP 503: the bank is closed for maintenance until 16:00';
  const attempts = [4, 9, 19, 40, 82];
  return detailsOf(
    summary({
      id: 'task-exhausted',
      tool: 'pay_invoice',
      owner: 'bo@example.com',
      createdAt: t,
      finishedAt: at(83),
      updatedAt: at(83),
      status: 'failed',
      problem,
    }),
    {
      arguments: { invoice: '2026-0812', amount: 1_240.5, currency: 'EUR' },
      passes: [pass({ from: at(0.1), to: at(83), end: 'ended' })],
      calls: [
        call({ name: 'look the invoice up', from: at(0.2), to: at(1.4), value: { due: '2026-08-31' } }),
        call({
          name: 'charge the card',
          from: at(1.4),
          to: at(83),
          state: 'failed',
          error: 'HTTP 503: the bank is closed for maintenance until 16:00',
          attempts: attempts.slice(0, -1).map((failedAt, index) => ({
            at: at(failedAt),
            message:
              index < 2
                ? 'connect ETIMEDOUT 203.0.113.7:443'
                : 'HTTP 503: the bank is closed for maintenance until 16:00',
            retryAt: at(failedAt + 2 * 2 ** index),
          })),
        }),
      ],
      outcome: { kind: 'result', isError: true, value: { content: [{ type: 'text', text: problem }] } },
    },
  );
}

/** A task with a subtask in every status. */
function family(): TaskDetails {
  const t = present - 6 * minute;
  const at = (s: number) => t + s * second;
  const child = (number: number, given: Partial<TaskSummary>): TaskSummary =>
    summary({
      id: `task-family-${number}`,
      tool: 'translate_chapter',
      parentId: 'task-family',
      rootId: 'task-family',
      createdAt: at(12 + number / 10),
      updatedAt: at(200),
      ...given,
    });
  const children = [
    child(1, { status: 'completed', finishedAt: at(96) }),
    child(2, { status: 'completed', finishedAt: at(148), passes: 2 }),
    child(3, {
      status: 'running',
      statusMessage: 'Page 14 of 20',
      progress: { done: 14, total: 20 },
    }),
    child(4, { status: 'waiting', statusMessage: 'What does “Priel” mean here?', openQuestions: 1 }),
    child(5, { status: 'queued', passes: 0 }),
    child(6, {
      status: 'failed',
      finishedAt: at(61),
      problem: 'The dictionary has no entry for “Watt”.',
    }),
  ];
  return detailsOf(
    summary({
      id: 'task-family',
      tool: 'translate_book',
      owner: 'press@example.com',
      createdAt: t,
      status: 'running',
      statusMessage: '2 of 6 chapters',
      progress: { done: 2, total: 6, message: '2 of 6 chapters' },
      childCount: 6,
      liveChildCount: 3,
    }),
    {
      arguments: { book: 'Tides of the North Sea', into: 'da', chapters: 6 },
      passes: [pass({ from: at(0.1), to: at(13), end: 'parked' })],
      calls: [
        call({ name: 'split into chapters', from: at(0.2), to: at(12), value: { chapters: 6 } }),
        ...children.map(({ id, tool, createdAt }) =>
          call({ kind: 'start', name: tool, from: createdAt, to: createdAt + 40, childId: id }),
        ),
        ...children.map(({ id, finishedAt = null }) =>
          call({ kind: 'result', name: id, from: at(12.8), to: finishedAt, childId: id }),
        ),
      ],
      children,
    },
  );
}

/** A cancelled task with a withdrawn question. */
function cancelled(): TaskDetails {
  const t = present - 31 * minute;
  const at = (s: number) => t + s * second;
  const reason = 'The report is not needed any more.';
  return detailsOf(
    summary({
      id: 'task-cancelled',
      tool: 'print_report',
      createdAt: t,
      finishedAt: at(204),
      updatedAt: at(204),
      status: 'cancelled',
      problem: reason,
    }),
    {
      passes: [pass({ from: at(0.1), to: at(26), end: 'parked' })],
      calls: [
        call({ name: 'typeset', from: at(0.2), to: at(25), value: { pages: 12 } }),
        call({ kind: 'ask', name: 'order', key: 'order', from: at(25), to: at(204), state: 'open' }),
      ],
      questions: [
        {
          key: 'order',
          state: 'withdrawn',
          askedAt: at(25),
          settledAt: at(204),
          request: {
            kind: 'form',
            message: 'How many copies?',
            schema: { type: 'object', properties: { copies: { type: 'integer', title: 'Copies' } } },
          },
        },
      ],
      outcome: { kind: 'cancelled', reason },
    },
  );
}

const events = (t: number): readonly HistoryEvent[] => {
  const all: readonly (readonly [ms: number, event: HistoryEvent['event']])[] = [
    [0, { type: 'created' }],
    [200, { type: 'claimed', epoch: 1, worker: 'harbour-7#4121' }],
    [8_000, { type: 'recorded', entries: 1 }],
    [31_000, { type: 'recorded', entries: 2 }],
    [39_100, { type: 'childStarted', childId: 'task-child-1' }],
    [39_300, { type: 'childStarted', childId: 'task-child-2' }],
    [49_000, { type: 'reported', progress: { done: 2, total: 4 }, message: 'Drafting chapter 2 of 4' }],
    [72_000, { type: 'childDone', childId: 'task-child-1', outcome: 'result' }],
    [74_000, { type: 'claimed', epoch: 2, worker: 'harbour-9#233', takenFrom: 'harbour-7#4121' }],
    [97_000, { type: 'recorded', entries: 1 }],
    [97_200, { type: 'reported', progress: { done: 3, total: 4 }, message: 'Drafting chapter 3 of 4' }],
  ];
  return all.map(([ms, event], index) => ({ version: index + 1, at: t + ms, event }));
};

/** Adds the events to the details of the crashed task. */
export function withEvents(of: TaskDetails): TaskDetails {
  return { ...of, events: events(of.task.createdAt) };
}

export const moreExamples: readonly TaskDetails[] = [running(), exhausted(), family(), cancelled()];
