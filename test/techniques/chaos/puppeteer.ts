/** The test's side of a puppet. */
import { Commanded } from '../../kit/child.ts';
import { untilEnd } from '../../kit/lifetime.ts';
import type { Line } from './acknowledgement.ts';
import type { Commands } from './puppet.ts';

interface PuppetOptions {
  readonly hear?: (line: Line) => void;
  readonly maxFiles?: number;
}

export function newPuppet(file: string, { hear, maxFiles }: PuppetOptions = {}) {
  return untilEnd(new Commanded<Commands, Line>('techniques/chaos/puppet.ts', { file }, hear, { maxFiles }));
}

export async function openedPuppet(file: string, options?: PuppetOptions) {
  const puppet = newPuppet(file, options);
  await puppet.do('open');
  return puppet;
}
