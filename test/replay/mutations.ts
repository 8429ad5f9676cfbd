/** A handler is changed while its task is on the way: it is held, or the change lies ahead of all that is recorded. */

import { Counts } from '../kit/counts.ts';
import { Chance } from './chance.ts';
import { type Checked, checkEach, type Problem } from './checks.ts';
import { freePlayer } from './free.ts';
import { live } from './life.ts';
import { mutated } from './mutate.ts';
import type { Program } from './program.ts';
import { World } from './world.ts';

export interface Findings {
  /** How many changes of each kind were detected, and how many were of what the handler had not come to yet. */
  readonly detected: Counts;
  readonly harmless: number;
  readonly problems: readonly Problem[];
}

/** Begins tasks, changes the handler of each in some ways, and puts the old one back. */
export async function checkChanges(
  checked: Checked,
  programs: Iterable<Program>,
  enough?: number,
): Promise<Findings> {
  const detected = new Counts();
  let harmless = 0;
  const check = async (program: Program, report: (check: string, what: string) => void) => {
    const chance = new Chance('changes', program.seed);
    const world = new World(program.seed);
    const commits = 1 + chance.below(6);
    const isLast = () => world.commits + 1 >= commits;
    const player = { ...freePlayer(chance), fate: () => (isLast() ? 'unheard' : 'heard') } as const;
    const begun = await live({ ...checked, program, world, player, stopIf: () => world.commits >= commits });
    if (begun.end.type !== 'stopped') return;

    for (let n = 0; n < 4; n++) {
      const mutation = mutated(program, chance);
      if (!mutation) continue;
      const future = world.copy();
      const onward = (handler: Program) => {
        const freely = freePlayer(new Chance('onward', chance.below(2 ** 32)), { atCommit: 0.2 });
        return live({ ...checked, program: handler, world: future, player: freely });
      };
      const isRecorded = mutation.shows(world.recorded.calls);
      const problem = (what: string) =>
        report(`${mutation.kind}, ${isRecorded ? 'recorded' : 'ahead'}`, what);
      const { end, story, problems } = await onward(mutation.program);
      for (const what of problems) problem(what);
      if (!isRecorded) {
        harmless++;
        if (!story) problem(JSON.stringify(end));
        continue;
      }
      if (end.type !== 'changed') {
        problem(`It was not detected: ${end.type}`);
        continue;
      }
      detected.add(mutation.kind);
      if (!mutation.touched.some((name) => end.message.includes(`${name}"`)))
        problem(`The message names none of ${mutation.touched}: ${end.message}`);
      if (future.commits > world.commits) problem('Something was committed.');
      const old = await onward(program);
      if (!old.story) problem(`The old handler could not continue: ${JSON.stringify(old.end)}`);
    }
  };
  const problems = await checkEach(programs, check, enough);
  return { detected, harmless, problems };
}
