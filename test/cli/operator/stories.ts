/** Details of tasks at fixed times. */
import type { CallSpan, PassSpan, TaskDetails, TaskSummary } from '../../../src/operator/api.ts';
import * as example from '../../kit/stories.ts';

export const now = Date.parse('2026-11-15T12:00:00Z');

export const ago = (seconds: number) => now - seconds * 1_000;

export const idOf = (begin: string) => begin.padEnd(32, 'k');

export function summary(some: Partial<TaskSummary> = {}): TaskSummary {
  return example.summary({
    id: idOf('kelpholdfast'),
    createdAt: ago(200),
    updatedAt: ago(2),
    version: 5,
    ...some,
  });
}

export function pass(some: Partial<PassSpan> = {}): PassSpan {
  return example.pass({ from: ago(200), to: ago(100), end: 'parked', ...some });
}

export function step(name: string, from: number, to: number | null, some: Partial<CallSpan> = {}): CallSpan {
  return example.call({ name, from: ago(from), to: to === null ? null : ago(to), ...some });
}

export function story(some: Partial<TaskDetails> = {}): TaskDetails {
  return example.story({ task: summary(), ...some });
}

const child = (begin: string, some: Partial<TaskSummary>) =>
  summary({ id: idOf(begin), tool: 'summarise', parentId: idOf('kelp'), rootId: idOf('kelp'), ...some });

/** A task that was killed during its work, taken over, and now waits for an answer. */
export const killed = story({
  task: summary({
    id: idOf('kelp'),
    status: 'waiting',
    openQuestions: 1,
    childCount: 2,
    passes: 3,
    progress: { done: 4, total: 5, message: 'Drafted' },
    statusMessage: 'Waiting for approval',
    deadlineAt: now + 23 * 3_600_000,
  }),
  arguments: { topic: 'tides', sources: ['almanac', 'harbour'], style: { tone: 'plain', words: 800 } },
  children: [
    child('reef', { status: 'completed', createdAt: ago(120), finishedAt: ago(95) }),
    child('surf', {
      status: 'failed',
      createdAt: ago(120),
      finishedAt: ago(80),
      problem: 'The harbour log is not in English.',
    }),
  ],
  passes: [
    pass({ number: 1, worker: 'host-1:4711', from: ago(198), to: ago(150), end: 'crashed' }),
    pass({ number: 2, worker: 'host-2:4712', from: ago(149), to: ago(115), end: 'parked', replayed: 2 }),
    pass({ number: 3, worker: 'host-2:4712', from: ago(80), to: ago(60), end: 'parked', replayed: 6 }),
  ],
  calls: [
    step('find sources', 198, 180),
    step('read almanac', 180, 165),
    step('read harbour log', 165, 130, {
      attempts: [
        { at: ago(145), message: 'connect ECONNREFUSED', retryAt: ago(140) },
        { at: ago(138), message: 'The harbour master is away.', retryAt: ago(134) },
      ],
    }),
    step('summarise', 120, 120, { kind: 'start', pass: 2, childId: idOf('reef') }),
    step('summarise', 120, 120, { kind: 'start', pass: 2, childId: idOf('surf') }),
    step('summarise', 119, 95, { kind: 'result', pass: 2, childId: idOf('reef') }),
    step('draft', 79, 61, { pass: 3 }),
    step('approval', 60, null, { kind: 'ask', pass: 3, key: 'approval' }),
  ],
  questions: [
    {
      key: 'tone',
      request: { kind: 'form', message: 'Which tone shall it have?', schema: {} },
      state: 'answered',
      askedAt: ago(79),
      settledAt: ago(78),
      response: { action: 'accept', content: { tone: 'plain' } },
    },
    {
      key: 'approval',
      request: {
        kind: 'form',
        message:
          'Publish the report about tides? It goes to everybody on the list, and cannot be taken back.',
        schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
      },
      state: 'open',
      askedAt: ago(60),
    },
  ],
});

/** Worked for three seconds, and waited for three days. */
export const patient = story({
  task: summary({
    id: idOf('patience'),
    tool: 'await_tide',
    status: 'completed',
    createdAt: ago(260_000),
    finishedAt: ago(100),
    passes: 2,
  }),
  arguments: {},
  passes: [
    pass({ number: 1, from: ago(260_000), to: ago(259_998) }),
    pass({ number: 2, from: ago(101), to: ago(100), end: 'ended', replayed: 2 }),
  ],
  calls: [
    step('measure', 260_000, 259_999),
    step('tide', 259_998, 101, { kind: 'sleep' }),
    step('measure again', 101, 100, { pass: 2 }),
  ],
  outcome: { kind: 'result', isError: false, value: { content: [{ type: 'text', text: 'High at noon.' }] } },
  purgeAt: now + 86_400_000,
});

export const several: TaskSummary[] = [
  killed.task,
  summary({ id: idOf('abalone'), status: 'running', createdAt: ago(12), progress: { done: 3, total: 8 } }),
  summary({
    id: idOf('barnacle'),
    tool: 'translate_whole_library_of_the_harbour',
    owner: 'https://issuer.example/users/bernadette',
    status: 'failed',
    createdAt: ago(7_200),
    finishedAt: ago(7_100),
    problem: 'The dictionary of 海藻 could not be opened: it is being read by somebody else.',
  }),
  summary({ id: idOf('coral'), tool: 'nap', owner: 'bo', status: 'queued', createdAt: ago(1) }),
  patient.task,
  summary({
    id: idOf('dulse'),
    tool: 'sync',
    status: 'lost',
    createdAt: ago(90_000),
    finishedAt: ago(80_000),
    problem: 'The upstream lost the task.',
  }),
  summary({
    id: idOf('eelgrass'),
    tool: 'sync',
    status: 'cancelled',
    createdAt: ago(400),
    finishedAt: ago(390),
  }),
];
