/** A handler is changed while its task is on the way: it is held, or the change lies ahead of all that is recorded. */

import type { RecordedCall } from '../../../src/engine/replay/journal.ts';
import { Counts } from '../../kit/counts.ts';
import { hash, type Random, seededRandom } from '../../kit/random.ts';
import { type Checked, checkEach } from './checks.ts';
import { live } from './life.ts';
import { freePlayer } from './players.ts';
import type { Node, Program } from './program.ts';
import { World } from './world.ts';

/** Begins tasks, changes the handler of each in some ways, and puts the old one back. */
export async function checkChanges(checked: Checked, programs: Iterable<Program>, enough?: number) {
  const detected = new Counts();
  /** Changes of what the handler had not come to yet. */
  let harmless = 0;
  const check = async (program: Program, report: (check: string, what: string) => void) => {
    const random = seededRandom(hash('changes', program.seed));
    const world = new World(program.seed);
    const commits = 1 + random.below(6);
    const isLast = () => world.commits + 1 >= commits;
    const player = { ...freePlayer(random), fate: () => (isLast() ? 'unheard' : 'heard') } as const;
    const begun = await live({ ...checked, program, world, player, stopIf: () => world.commits >= commits });
    if (begun.end.type !== 'stopped') return;

    for (let n = 0; n < 4; n++) {
      const mutation = mutated(program, random);
      if (!mutation) continue;
      const future = world.copy();
      const onward = (handler: Program) => {
        const freely = freePlayer(seededRandom(hash('onward', random.below(2 ** 32))), { atCommit: 0.2 });
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

export const mutationKinds = ['added before', 'added beside', 'removed', 'renamed', 'swapped'] as const;

/** A node, what a new release has instead of it, and the calls that are no longer where they were. */
type Difference = readonly [old: Node, replacement: Node, ...touched: readonly Node[]];

/** A change of one kind of one call that has a name. Undefined if the program has no place for one. */
function mutated(program: Program, random: Random) {
  const kind = random.oneOf(mutationKinds);
  const nodes = nodesOf(program.root);
  const id = 1 + Math.max(...nodes.map((one) => one.id));
  const plain = { gives: 'text', failures: 0, attempts: 1, delay: 0, error: 'plain' } as const;
  const added: Node = { kind: 'step', name: 'new', ...plain, id };
  const possible = nodes.flatMap((node) => differencesAt(node, kind, added));
  if (possible.length === 0) return undefined;
  const [old, replacement, ...nodesTouched] = random.oneOf(possible);
  // The names of a program's calls end with the place of their node.
  const touched = nodesTouched.map((node) => `.${node.id}`);
  return {
    kind,
    program: { ...program, root: replaced(program.root, old, replacement) },
    touched,
    /** Whether the handler had come that far when this was recorded. */
    shows: (recorded: readonly RecordedCall[]) => recorded.some(({ name }) => name.endsWith(touched[0]!)),
  };
}

/** Where a change can be seen for certain once the call that is there was recorded. */
function differencesAt(node: Node, kind: (typeof mutationKinds)[number], added: Node): Difference[] {
  if (kind === 'removed' && hasName(node)) return [[node, { kind: 'gone', id: node.id }, node]];
  if (kind === 'renamed' && hasName(node)) return [[node, { ...node, name: `${node.name} anew` }, node]];
  if (kind === 'removed' || kind === 'renamed' || !('parts' in node)) return [];
  const { parts } = node;
  const inTurn = node.kind === 'sequence' || node.kind === 'generator';
  return parts.flatMap((part, index): Difference[] => {
    const next = parts[index + 1];
    if (!hasName(part) || (kind === 'added beside' && inTurn)) return [];
    if (kind !== 'swapped') {
      const position = kind === 'added before' ? index : index + 1;
      return [[node, { ...node, parts: parts.toSpliced(position, 0, added) }, part, added]];
    }
    if (!next || !hasName(next)) return [];
    return [[node, { ...node, parts: parts.with(index, next).with(index + 1, part) }, part, next]];
  });
}

function nodesOf(node: Node): Node[] {
  return [node, ...Object.values(node).flat().filter(isNode).flatMap(nodesOf)];
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'id' in part;
}

function replaced(node: Node, old: Node, replacement: Node): Node {
  if (node === old) return replacement;
  const parts = Object.entries(node).map(([key, part]: [string, unknown]) => {
    if (Array.isArray(part)) return [key, part.map((one) => replaced(one, old, replacement))];
    return [key, isNode(part) ? replaced(part, old, replacement) : part];
  });
  return Object.fromEntries(parts) as Node;
}

function hasName(node: Node): node is Extract<Node, { name: string }> {
  return 'name' in node;
}
