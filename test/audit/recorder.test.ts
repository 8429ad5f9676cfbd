/** What is no commit is gathered, counted and written; here with a clock by hand. */
import { expect, test } from 'vitest';
import { AuditRecorder, type Noted } from '../../src/engine/database/audit-log.ts';
import type { AuditEntry } from '../../src/ports/audit.ts';
import { ManualClock } from '../../src/testing.ts';

function recording() {
  const clock = new ManualClock(0);
  const written: AuditEntry[] = [];
  const state = { isFull: false };
  const append = async (entries: readonly AuditEntry[]) => {
    if (state.isFull) throw new Error('The disk is full.');
    written.push(...entries);
  };
  const recorder = new AuditRecorder(append, clock);
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const advance = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  return { recorder, written, state, advance };
}

const read: Noted = { action: 'result-read', owner: 'ada', taskId: 'a', by: 'caller' };
const denied = (owner: string, taskId: string) =>
  ({ action: 'denied', owner, taskId, by: 'caller', reason: 'No.' }) as const;

test('the first of its kind is written soon, what repeats it once at the end of the minute', async () => {
  const { recorder, written, advance } = recording();
  for (let n = 0; n < 5; n++) recorder.note('a', read);
  expect(written).toEqual([]);
  await advance(200);
  expect(written).toEqual([{ ...read, at: 0 }]);
  for (let n = 0; n < 3; n++) recorder.note('a', read);
  await advance(59_000);
  expect(written).toHaveLength(1);
  await advance(1_000);
  expect(written.slice(1)).toEqual([{ ...read, at: 60_000, times: 7 }]);
});

test('the next minute begins anew', async () => {
  const { recorder, written, advance } = recording();
  recorder.note('a', read);
  await advance(61_000);
  recorder.note('a', read);
  await advance(61_000);
  expect(written).toEqual([
    { ...read, at: 0 },
    { ...read, at: 61_000 },
  ]);
});

test('a repeat is recognised without anything else being made', () => {
  const { recorder } = recording();
  expect(recorder.countAgain('a')).toBe(false);
  recorder.note('a', read);
  expect(recorder.countAgain('a')).toBe(true);
});

test('of an owner that is refused again and again some are told, the rest is counted; another owner is not touched', async () => {
  const { recorder, written } = recording();
  for (let n = 0; n < 1_000; n++) recorder.refuse(denied('mallory', `guess ${n}`));
  recorder.refuse(denied('ada', 'mistyped'));
  await recorder.flush();
  const mallory = written.filter(({ owner }) => owner === 'mallory');
  expect(mallory).toHaveLength(22);
  expect(mallory.reduce((sum, { times = 1 }) => sum + times, 0)).toBe(1_000);
  expect(mallory.at(-1)).toMatchObject({ taskId: null, reason: expect.stringContaining('only counted') });
  expect(written.filter(({ owner }) => owner === 'ada')).toMatchObject([{ taskId: 'mistyped' }]);
});

test('what cannot be written is counted, and said as soon as something can', async () => {
  const { recorder, written, state, advance } = recording();
  state.isFull = true;
  recorder.note('a', read);
  recorder.note('b', { ...read, taskId: 'b' });
  await advance(200);
  state.isFull = false;
  recorder.note('c', { ...read, taskId: 'c' });
  await advance(200);
  expect(written).toMatchObject([
    { action: 'result-read', taskId: 'c' },
    { action: 'omitted', owner: null, taskId: null, by: 'engine', times: 2 },
  ]);
});

test('more than can wait is counted too, and memory stays bounded', async () => {
  const { recorder, written } = recording();
  for (let n = 0; n < 50_000; n++) recorder.note(`${n}`, { ...read, taskId: `${n}` });
  await recorder.flush();
  expect(written).toHaveLength(20_001);
  expect(written.at(-1)).toMatchObject({ action: 'omitted', times: 30_000 });
});

test('a flush leaves nothing behind', async () => {
  const { recorder, written } = recording();
  recorder.note('a', read);
  recorder.note('a', read);
  await recorder.flush();
  expect(written).toMatchObject([{ taskId: 'a' }, { taskId: 'a' }]);
  await recorder.flush();
  expect(written).toHaveLength(2);
});
