import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BackgroundWork, type Progress } from './background-work.ts';

/** Work of which each batch takes so long that the rest after it would outlast the test. */
function workOf(batches: readonly Progress[]) {
  const left = [...batches];
  const work = new BackgroundWork({
    failure: 'It could not be done',
    batch: async () => {
      const progress = left.shift() ?? 'end';
      if (progress === 'rest') busyFor(150);
      return progress;
    },
  });
  return { work, left };
}

function busyFor(ms: number): void {
  for (const started = performance.now(); performance.now() - started < ms; );
}

describe('work in the background', () => {
  test('rests between batches, and is stopped in its rest', async () => {
    const { work, left } = workOf(['rest', 'rest', 'rest']);
    work.start();
    await turn();
    expect(left).toHaveLength(2);
    await work.stop();
    work.start();
    await turn();
    expect(left).toHaveLength(2);
  });

  test('is begun once, and again when it has come to its end', async () => {
    const { work, left } = workOf(['end', 'end', 'end']);
    work.start();
    work.start();
    await turn();
    expect(left).toHaveLength(2);
    work.start();
    await turn();
    expect(left).toHaveLength(1);
  });

  test('warns of what failed', async () => {
    const warnings: string[] = [];
    const hear = ({ message }: Error) => void warnings.push(message);
    process.on('warning', hear);
    onTestFinished(() => void process.off('warning', hear));
    const work = new BackgroundWork({
      failure: 'It could not be done',
      batch: () => Promise.reject(new Error('the disk is full')),
    });
    work.start();
    await expect.poll(() => warnings).toEqual(['It could not be done: the disk is full']);
  });
});
