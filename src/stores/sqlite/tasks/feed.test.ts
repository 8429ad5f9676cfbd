import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as rules from '../../../engine/rules/transitions.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { aTask } from '../../../testing/fixtures.ts';
import { connect } from '../driver.ts';
import { joinSqlite, openSqlite } from '../open.ts';
import { soleInstance } from '../queue/process-liveness.ts';

/** A listener and a writer in two processes on the same file. The test controls the listener's file watch. */
async function listenerAndWriter() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'tasks.db');
  const writer = await openSqlite(file);
  onTestFinished(() => writer.close());
  let onWrite = () => {};
  const reader = joinSqlite({
    db: connect(file),
    place: file,
    instance: soleInstance(),
    clock: systemClock,
    watch: (listener) => {
      onWrite = listener;
      return () => {};
    },
  });
  onTestFinished(() => reader.close());
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const received: string[] = [];
  reader.store.subscribe(({ taskId }) => received.push(taskId));
  const commit = async () => {
    const request = aTask();
    await writer.store.create(undefined, () => rules.create(undefined, request, 0));
    return request.id;
  };
  return { commit, received, write: () => onWrite() };
}

/** Shorter than the fallback interval, which finds everything. */
const beforeFallback = 200;

test('a commit that becomes visible after an earlier one was found does not wait for the fallback', async () => {
  const { commit, received, write } = await listenerAndWriter();
  const first = await commit();
  write();
  vi.advanceTimersByTime(1);
  expect(received).toEqual([first]);
  const second = await commit();
  vi.advanceTimersByTime(3);
  expect(received).toEqual([first, second]);
});

test('a commit that a slow disk makes visible late does not wait for the fallback', async () => {
  const { commit, received, write } = await listenerAndWriter();
  write();
  vi.advanceTimersByTime(beforeFallback - 10);
  const late = await commit();
  vi.advanceTimersByTime(10);
  expect(received).toEqual([late]);
});

test('a write triggers a quick poll, even after polls have become slow', async () => {
  const { commit, received, write } = await listenerAndWriter();
  write();
  vi.advanceTimersByTime(beforeFallback / 2);
  const found = await commit();
  write();
  vi.advanceTimersByTime(1);
  expect(received).toEqual([found]);
});

test('a commit that no file watch reports is found by the fallback', async () => {
  const { commit, received } = await listenerAndWriter();
  const found = await commit();
  vi.advanceTimersByTime(beforeFallback);
  expect(received).toEqual([]);
  vi.advanceTimersByTime(50);
  expect(received).toEqual([found]);
});
