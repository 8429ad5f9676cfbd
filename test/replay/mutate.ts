/** Random changes of a handler, each of one kind that a new release brings: a call renamed, removed, added, moved. */
import type { RecordedCall } from '../../src/engine/journal.ts';
import type { Chance } from './chance.ts';
import type { Node, Program } from './program.ts';

export interface Mutation {
  readonly kind: 'renamed' | 'removed' | 'added before' | 'added beside' | 'swapped';
  readonly program: Program;
  /** The calls that are no longer where they were, by the ends of their names. */
  readonly touched: readonly string[];
  /** Whether the handler had come that far when this was recorded. */
  shows(recorded: readonly RecordedCall[]): boolean;
}

/** Changes one call that has a name. Undefined if the program has none of the kind that is needed. */
export function mutated(program: Program, chance: Chance): Mutation | undefined {
  const kind = chance.oneOf(['renamed', 'removed', 'added before', 'added beside', 'swapped'] as const);
  const newId = 1 + Math.max(...nodesOf(program.root).map(({ id }) => id));
  const added: Node = {
    kind: 'step',
    name: 'new',
    gives: 'text',
    failures: 0,
    attempts: 1,
    delay: 0,
    error: 'plain',
    id: newId,
  };
  const by = (old: Node, replacement: Node, touched: readonly Node[]): Mutation => ({
    kind,
    program: { ...program, root: replaced(program.root, old, replacement) },
    touched: touched.map(ending),
    shows: (recorded) => recorded.some(({ name }) => name.endsWith(ending(touched[0]!))),
  });
  if (kind === 'renamed' || kind === 'removed') {
    const node = some(nodesOf(program.root).filter(hasName), chance);
    if (!node) return undefined;
    const replacement: Node =
      kind === 'removed' ? { kind: 'gone', id: node.id } : { ...node, name: `${node.name} anew` };
    return by(node, replacement, [node]);
  }
  const places = placesFor(kind, nodesOf(program.root));
  const place = some(places, chance);
  if (!place) return undefined;
  const { parent, index } = place;
  const [before, node, after] = [
    parent.parts.slice(0, index),
    parent.parts[index]!,
    parent.parts.slice(index + 1),
  ];
  if (kind === 'added before')
    return by(parent, { ...parent, parts: [...before, added, node, ...after] }, [node, added]);
  if (kind === 'added beside')
    return by(parent, { ...parent, parts: [...before, node, added, ...after] }, [node, added]);
  const [next, ...rest] = after;
  return by(parent, { ...parent, parts: [...before, next!, node, ...rest] }, [node, next!]);
}

type Parent = Extract<Node, { parts: readonly Node[] }>;

interface Place {
  readonly parent: Parent;
  readonly index: number;
}

/** Where a change can be seen for certain once the call that is there was recorded. */
function placesFor(kind: 'added before' | 'added beside' | 'swapped', nodes: readonly Node[]): Place[] {
  return nodes
    .filter((node): node is Parent => 'parts' in node)
    .flatMap((parent) => parent.parts.map((_, index) => ({ parent, index })))
    .filter(({ parent: { kind: around, parts }, index }) => {
      const inTurn = around === 'sequence' || around === 'generator';
      if (!hasName(parts[index]!)) return false;
      if (kind === 'added before') return true;
      if (kind === 'added beside') return !inTurn;
      return index + 1 < parts.length && hasName(parts[index + 1]!);
    });
}

function nodesOf(node: Node): Node[] {
  return [node, ...childrenOf(node).flatMap(nodesOf)];
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap((part: unknown) => (Array.isArray(part) ? part : [part]).filter(isNode));
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

/** The names of a program's calls end with the place of their node. */
function ending({ id }: Node): string {
  return `.${id}`;
}

function some<T>(choices: readonly T[], chance: Chance): T | undefined {
  return choices.length > 0 ? chance.oneOf(choices) : undefined;
}
