/** A handler is changed while its task is on the way: it is held, or the change lies ahead of all that is recorded. */
import { Chance } from './chance.ts';
import type { Checked, Many, Problem } from './checks.ts';
import { FreePlayer } from './free.ts';
import type { Fate } from './host.ts';
import { inLanes } from './lanes.ts';
import { live } from './life.ts';
import { mutated } from './mutate.ts';
import type { Program } from './program.ts';
import { World } from './world.ts';

export interface Findings {
  /** How many changes of each kind were detected. */
  readonly detected: Map<string, number>;
  /** Changes of what the handler had not come to yet. */
  harmless: number;
  readonly problems: Problem[];
}

/** Dies after so many commits. */
class Mortal extends FreePlayer {
  readonly #world: World;
  readonly #commits: number;

  constructor(chance: Chance, world: World, commits: number) {
    super(chance);
    this.#world = world;
    this.#commits = commits;
  }

  override fate(): Fate {
    return this.#world.commits + 1 >= this.#commits ? 'unheard' : 'heard';
  }
}

export async function checkChanges(
  { Pass, patienceMs }: Checked,
  { programs, atOnce, enough = Infinity }: Many,
): Promise<Findings> {
  const findings: Findings = { detected: new Map(), harmless: 0, problems: [] };
  const check = (program: Program) =>
    checkSome({ Pass, ...(patienceMs && { patienceMs }) }, program, findings);
  await inLanes(programs, atOnce, check, () => findings.problems.length < enough);
  return findings;
}

/** Begins a task, changes its handler in some ways, and puts the old one back. */
async function checkSome(checked: Checked, program: Program, findings: Findings): Promise<void> {
  const chance = new Chance('changes', program.seed);
  const world = new World(program.seed);
  const commits = 1 + chance.below(6);
  const player = new Mortal(chance, world, commits);
  const stopIf = () => world.commits >= commits;
  const begun = await live({ ...checked, program, world, player, stopIf });
  if (begun.end.type !== 'stopped') return;

  for (let n = 0; n < 4; n++) {
    const mutation = mutated(program, chance);
    if (!mutation) continue;
    const future = world.copy();
    const onward = (handler: Program) =>
      live({
        ...checked,
        program: handler,
        world: future,
        player: new FreePlayer(new Chance('onward', chance.below(2 ** 32)), { atCommit: 0.2 }),
      });
    const isRecorded = mutation.shows(world.journal().calls);
    const life = await onward(mutation.program);
    const problem = (what: string) =>
      findings.problems.push({
        seed: program.seed,
        check: `${mutation.kind}, ${isRecorded ? 'recorded' : 'ahead'}`,
        what,
      });
    for (const what of life.problems) problem(what);
    if (!isRecorded) {
      findings.harmless++;
      if (!life.story) problem(JSON.stringify(life.end));
      continue;
    }
    if (life.end.type !== 'changed') {
      problem(`It was not detected: ${life.end.type}`);
      continue;
    }
    findings.detected.set(mutation.kind, (findings.detected.get(mutation.kind) ?? 0) + 1);
    const { message } = life.end;
    if (!mutation.touched.some((end) => message.includes(`${end}"`)))
      problem(`The message names none of ${mutation.touched}: ${message}`);
    if (future.commits > world.commits) problem('Something was committed.');
    const old = await onward(program);
    if (!old.story) problem(`The old handler could not go on: ${JSON.stringify(old.end)}`);
  }
}
