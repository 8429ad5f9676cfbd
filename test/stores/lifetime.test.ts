/**
 * An open store keeps no process alive, nor does what it does in the background. But whoever waits for something, for
 * its closing too, is not left waiting by a process that ends for want of anything else to do.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { create } from '../../src/engine/transitions.ts';
import { aTask } from '../../src/testing.ts';
import { encryption } from '../encryption/keys.ts';
import { type Kind, kinds, open } from './kinds.ts';

/** Of which every value is still to be written anew, because there is a younger key. */
async function placeWithWork(kind: Kind): Promise<string> {
  const place = await kind.place();
  const { store, close } = await open(place, { encryption: encryption('first') });
  await Promise.all(
    Array.from({ length: 400 }, () => store.create(undefined, () => create(undefined, aTask(), Date.now()))),
  );
  await close();
  return place;
}

const script = new URL('./short-life.ts', import.meta.url).pathname;

test.each(
  kinds.flatMap((kind) =>
    (['close', 'reencrypt', 'leave'] as const).map((how) => ({ kind, how, on: kind.name })),
  ),
)(
  'a process with nothing else to do comes to its own end on $on ($how)',
  { timeout: 60_000 },
  async ({ kind, how }) => {
    const args = ['--conditions=holdfast-source', script, await placeWithWork(kind), how];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 50_000 });
    expect(stderr).toBe('');
    expect(stdout).toBe('done\n');
  },
);
