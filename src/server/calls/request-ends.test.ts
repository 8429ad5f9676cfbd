/** The fate of the task of a plain call after the end of its request. */
import { describe, expect, test } from 'vitest';
import type { TaskService } from '../../engine/task-service.ts';
import { Unavailable } from '../../model/errors.ts';
import type { Caller } from '../../task-methods/caller.ts';
import type { HandOver } from '../hand-over/waiting.ts';
import type { Fate } from './deliveries.ts';
import { RequestEnds } from './request-ends.ts';

const join = { key: 'key', session: null, call: 'call' };
const caller = { owner: 'ada', dialect: { revision: 'any' } } as unknown as Caller;

class Busy extends Unavailable {
  readonly forCallers = 'busy';

  constructor() {
    super('STORE_BUSY', 'busy');
  }
}

/** A fake service that records its calls and returns the given answers. */
function fakeService(answers: Partial<Record<keyof TaskService, unknown>> = {}) {
  const notes: string[] = [];
  const act = (name: keyof TaskService) => async () => {
    notes.push(name);
    return answers[name];
  };
  const names = ['leave', 'leaveAny', 'discard', 'delivered', 'cancel', 'confirmHandOver'] as const;
  const requests = Object.fromEntries(names.map((name) => [name, act(name)])) as unknown as TaskService;
  return { notes, requests };
}

function request(fate: Fate, keepMs?: number): { handOver: HandOver; join: typeof join } {
  const isLost = () => fate === 'lost';
  const handOver = { fate: Promise.resolve(fate), isLost, ...(keepMs !== undefined && { keepMs }) };
  return { handOver: handOver as unknown as HandOver, join };
}

describe('an answer', () => {
  test.each([
    ['delivered', undefined, 'discard'],
    ['delivered', 60_000, 'delivered'],
    ['lost', undefined, 'leave'],
    ['cancelled', undefined, 'discard'],
  ] as const)('that was %s (kept for %s ms): %s', async (fate, keepMs, done) => {
    const { notes, requests } = fakeService();
    await new RequestEnds(requests, () => false).answered('id', request(fate, keepMs));
    expect(notes).toEqual([done]);
  });

  test('that names a task is confirmed when delivered; otherwise its task is left or cancelled', async () => {
    for (const [fate, done] of [
      ['delivered', 'confirmHandOver'],
      ['lost', 'leave'],
      ['cancelled', 'cancel'],
    ] as const) {
      const { notes, requests } = fakeService({ cancel: true });
      await new RequestEnds(requests, () => false).handedOver('id', caller, request(fate));
      expect(notes).toEqual([done]);
    }
  });
});

test('cancelling a hand-over ends its task even if no call can join it', async () => {
  const { notes, requests } = fakeService({ cancel: true });
  const { handOver } = request('cancelled');
  await new RequestEnds(requests, () => false).handedOver('id', caller, { handOver });
  expect(notes).toEqual(['cancel']);
});

describe('a call without an answer', () => {
  test('that was lost cancels nothing, even if another call has joined its task', async () => {
    const { notes, requests } = fakeService({ leave: false });
    await new RequestEnds(requests, () => false).aborted('id', caller, request('lost'));
    expect(notes).toEqual(['leave']);
  });

  test('that was lost and cannot be joined cancels nothing', async () => {
    const { notes, requests } = fakeService();
    const { handOver } = request('lost');
    await new RequestEnds(requests, () => false).aborted('id', caller, { handOver });
    expect(notes).toEqual([]);
  });

  test('that was cancelled cancels its task, or removes it if it is already done', async () => {
    const live = fakeService({ cancel: true });
    await new RequestEnds(live.requests, () => false).aborted('id', caller, request('cancelled'));
    expect(live.notes).toEqual(['cancel']);
    const done = fakeService({ cancel: false });
    await new RequestEnds(done.requests, () => false).aborted('id', caller, request('cancelled'));
    expect(done.notes).toEqual(['cancel', 'discard']);
  });

  test('of a stopping server is left if another call can join it', async () => {
    const { notes, requests } = fakeService({ cancel: true });
    const ends = new RequestEnds(requests, () => true);
    await ends.aborted('id', caller, request('cancelled'));
    await ends.aborted('id', caller, {});
    expect(notes).toEqual(['leave', 'cancel']);
  });
});

test('a failed write to the store is retried until the server closes', async () => {
  let tries = 0;
  const requests = {
    leave: async () => {
      if (++tries < 3) throw new Busy();
      return true;
    },
  } as unknown as TaskService;
  await new RequestEnds(requests, () => false).aborted('id', caller, request('lost'));
  expect(tries).toBe(3);

  const never = { leave: () => Promise.reject(new Busy()) } as unknown as TaskService;
  const ends = new RequestEnds(never, () => false);
  const ended = ends.aborted('id', caller, request('lost'));
  await Promise.all([ends.settled(), expect(ended).rejects.toThrow(Busy)]);
});
