/** The test's side of a puppet. */
import { Commanded } from '../../kit/child.ts';
import { untilEnd } from '../../kit/lifetime.ts';
import type { Line } from './acknowledgement.ts';
import type { Commands } from './puppet.ts';

export type Puppet = Commanded<Commands, Line>;

export function newPuppet(file: string, hear?: (line: Line) => void, maxFiles?: number): Puppet {
  return untilEnd(new Commanded<Commands, Line>('techniques/chaos/puppet.ts', { file }, hear, { maxFiles }));
}

export async function openedPuppet(
  file: string,
  { hear, maxFiles }: { hear?: (line: Line) => void; maxFiles?: number } = {},
): Promise<Puppet> {
  const puppet = newPuppet(file, hear, maxFiles);
  await puppet.do('open');
  return puppet;
}
