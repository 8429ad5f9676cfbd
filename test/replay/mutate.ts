/** Random changes of a handler, each of one kind that a new release brings: a call renamed, removed, added, moved. */
import type { RecordedCall } from '../../src/engine/journal.ts';
import type { Chance } from './chance.ts';
import type { Node, Program } from './program.ts';

export const mutationKinds = ['added before', 'added beside', 'removed', 'renamed', 'swapped'] as const;

export interface Mutation {
  readonly kind: (typeof mutationKinds)[number];
  readonly program: Program;
  /** The calls that are no longer where they were, by the ends of their names. */
  readonly touched: readonly string[];
  /** Whether the handler had come that far when this was recorded. */
  shows(recorded: readonly RecordedCall[]): boolean;
}

/** Changes one call that has a name. Undefined if the program has none of the kind that is needed. */
export function mutated(program: Program, chance: Chance): Mutation | undefined {
  const kind = chance.oneOf(mutationKinds);
  const nodes = nodesOf(program.root);
  const by = (old: Node, replacement: Node, ...touched: readonly Node[]): Mutation => {
    // The names of a program's calls end with the place of their node.
    const endings = touched.map(({ id }) => `.${id}`);
    return {
      kind,
      program: { ...program, root: replaced(program.root, old, replacement) },
      touched: endings,
      shows: (recorded) => recorded.some(({ name }) => name.endsWith(endings[0]!)),
    };
  };
  if (kind === 'renamed' || kind === 'removed') {
    const named = nodes.filter(hasName);
    if (named.length === 0) return undefined;
    const node = chance.oneOf(named);
    return by(
      node,
      kind === 'removed' ? { kind: 'gone', id: node.id } : { ...node, name: `${node.name} anew` },
      node,
    );
  }
  const places = nodes.filter((node) => 'parts' in node).flatMap((parent) => placesIn(parent, kind));
  if (places.length === 0) return undefined;
  const { parent, index } = chance.oneOf(places);
  const node = parent.parts[index]!;
  if (kind === 'swapped') {
    const next = parent.parts[index + 1]!;
    return by(parent, { ...parent, parts: parent.parts.with(index, next).with(index + 1, node) }, node, next);
  }
  const id = 1 + Math.max(...nodes.map((one) => one.id));
  const plain = { gives: 'text', failures: 0, attempts: 1, delay: 0, error: 'plain' } as const;
  const added: Node = { kind: 'step', name: 'new', ...plain, id };
  const position = kind === 'added before' ? index : index + 1;
  return by(parent, { ...parent, parts: parent.parts.toSpliced(position, 0, added) }, node, added);
}

type Parent = Extract<Node, { parts: readonly Node[] }>;

/** Where a change can be seen for certain once the call that is there was recorded. */
function placesIn(parent: Parent, kind: 'added before' | 'added beside' | 'swapped') {
  const inTurn = parent.kind === 'sequence' || parent.kind === 'generator';
  return parent.parts
    .map((node, index) => ({ parent, index, node, next: parent.parts[index + 1] }))
    .filter(({ node, next }) => {
      if (!hasName(node)) return false;
      if (kind === 'added beside') return !inTurn;
      return kind === 'added before' || (next !== undefined && hasName(next));
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
