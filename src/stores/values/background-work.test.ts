import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { StoreClosed } from '../../engine/store-errors.ts';
import { BackgroundWork, type Progress } from './background-work.ts';

/** Work of which each batch takes so long that the rest behind it would outlast the test. */
function workOf(batches: readonly Progress[]) {
  const left = [...batches];
  const parts = { place: 'here', failure: 'It could not be done' };
  const work = new BackgroundWork({
    ...parts,
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
  test('rests between batches, and is done with at once when somebody waits for its end', async () => {
    const { work, left } = workOf(['rest', 'rest', 'go on', 'rest']);
    work.start();
    await turn();
    expect(left).toHaveLength(3);
    await work.finish();
    expect(left).toHaveLength(0);
  });

  test('is stopped in its rest', async () => {
    const { work, left } = workOf(['busy', 'rest']);
    work.start();
    await turn();
    await work.stop();
    expect(left).toEqual(['rest']);
    await expect(work.finish()).rejects.toThrow(StoreClosed);
  });

  test('is begun once, and again when it has come to its end', async () => {
    const { work, left } = workOf(['go on', 'end', 'go on', 'end']);
    work.start();
    work.start();
    await work.finish();
    expect(left).toHaveLength(2);
    await work.finish();
    expect(left).toHaveLength(0);
  });

  test('says what failed if nobody waits, and tells those who do', async () => {
    const warnings: string[] = [];
    const hear = ({ message }: Error) => void warnings.push(message);
    process.on('warning', hear);
    onTestFinished(() => void process.off('warning', hear));
    const work = new BackgroundWork({
      place: 'here',
      failure: 'It could not be done',
      batch: () => Promise.reject(new Error('the disk is full')),
    });
    work.start();
    await expect.poll(() => warnings).toEqual(['It could not be done: the disk is full']);
    await expect(work.finish()).rejects.toThrow('the disk is full');
  });
});
