/** Tasks and their stories as the operator's API tells of them, but for what a test changes. */
import type { CallSpan, PassSpan, TaskDetails, TaskSummary } from '../../src/operator/api.ts';

export function summary(given: Partial<TaskSummary> = {}): TaskSummary {
  return {
    id: 'task',
    owner: 'ana',
    tool: 'publish_report',
    toolVersion: '1',
    status: 'running',
    createdAt: 0,
    updatedAt: 0,
    deadlineAt: null,
    rootId: given.id ?? 'task',
    childCount: 0,
    liveChildCount: 0,
    openQuestions: 0,
    passes: 1,
    version: 1,
    ...given,
  };
}

export function story(given: Partial<TaskDetails> = {}): TaskDetails {
  return {
    task: summary(),
    origin: { dialect: '2026-07-28', method: 'tools/call' },
    arguments: { topic: 'tides' },
    purgeAt: null,
    wakeAt: null,
    ancestors: [],
    children: [],
    passes: [],
    calls: [],
    omittedCalls: 0,
    questions: [],
    events: [],
    omittedEvents: 0,
    audit: [],
    ...given,
  };
}

export function pass(given: Partial<PassSpan>): PassSpan {
  return { number: 1, worker: 'host-1', from: 0, to: null, end: 'running', replayed: 0, ...given };
}

/** A step, unless told otherwise. */
export function call(given: Partial<CallSpan>): CallSpan {
  const state = given.to === null ? 'open' : 'ok';
  return { kind: 'step', name: 'fetch', pass: 1, from: 0, to: 100, state, attempts: [], ...given };
}
