/**
 * Random handlers, as trees. A tree says what a handler does between and around its calls: everything that plain
 * JavaScript offers to run things beside and after one another, and every call that `task` has.
 */
import { hash, type Random, seededRandom } from '../../kit/random.ts';

type Call = ReturnType<typeof randomCall>;

/** A wait that needs no journal. */
export type Pure = ReturnType<typeof randomPure>;

export type Leaf =
  | Call
  | Pure
  /** An await that the journal does not know. Only programs made for it have any. */
  | { readonly kind: 'timer'; readonly ms: number }
  /** `gone` is where something was, before the handler was changed. */
  | { readonly kind: 'now' | 'throw' | 'return' | 'gone' };

export type Branch =
  | {
      readonly kind: 'sequence' | 'all' | 'allSettled' | 'race' | 'any' | 'generator';
      readonly parts: readonly Node[];
    }
  | { readonly kind: 'loop'; readonly times: number; readonly together: boolean; readonly body: Node }
  | { readonly kind: 'try'; readonly body: Node; readonly rescue?: Node; readonly finally?: Node }
  | { readonly kind: 'dangle'; readonly body: Node }
  | { readonly kind: 'if'; readonly condition: Node; readonly yes: Node; readonly no: Node };

/** `id` is its place in the tree. */
export type Node = (Leaf | Branch) & { readonly id: number };

export interface Program {
  readonly seed: number;
  readonly root: Node;
  /** Equal names in parallel branches are the hardest to tell apart; a changed handler needs distinct ones. */
  readonly names: 'equal' | 'distinct';
}

export function randomProgram(seed: number, names: Program['names'] = 'equal'): Program {
  return { seed, names, root: growth(seededRandom(hash('program', seed)), 32).root(5) };
}

export const withDistinctNames = (seed: number): Program => randomProgram(seed, 'distinct');

/** Timers outside steps, each with nothing open beside it. */
export function withTimers(seed: number): Program {
  const random = seededRandom(hash('timers', seed));
  const { node, closed } = growth(random, 14);
  const parts = Array.from({ length: 3 }, () => [node({ kind: 'timer', ms: random.below(3) }), closed(2)]);
  return { seed, names: 'equal', root: node({ kind: 'sequence', parts: parts.flat() }) };
}

export function* programs(
  firstSeed: number,
  count: number,
  make: (seed: number) => Program = randomProgram,
): Generator<Program> {
  for (let n = 0; n < count; n++) yield make(firstSeed + n);
}

function randomCall(random: Random) {
  const kind = random.weighted({ step: 55, ask: 10, sleep: 9, event: 8, until: 7, subtask: 11 });
  const timeout: { readonly timeout?: number } = random.chance(0.3) ? { timeout: 1 + random.below(60) } : {};
  switch (kind) {
    case 'step': {
      const attempts = random.chance(0.3) ? 2 + random.below(2) : 1;
      return {
        kind,
        name: random.oneOf(['a', 'b', 'c']) as string,
        gives: random.oneOf(['nothing', 'null', 'text', 'number', 'list', 'object']),
        /** So many attempts fail before one succeeds. */
        failures: random.chance(attempts > 1 ? 0.6 : 0.2) ? 1 + random.below(attempts) : 0,
        attempts,
        delay: random.oneOf([0, 11]) as number,
        error: random.oneOf(['plain', 'typed', 'final', 'protocol', 'text', 'not JSON']),
      };
    }
    case 'ask': {
      const form = random.oneOf(['form', 'slow form', 'url', 'sampling', 'roots']);
      return { kind, name: random.oneOf(['p', 'q']) as string, form, ...timeout };
    }
    case 'sleep':
      return { kind, ms: random.below(60), until: random.chance(0.3) };
    case 'event':
      return { kind, name: random.oneOf(['x', 'y', 'z']) as string, ...timeout };
    case 'until':
      return { kind, name: random.oneOf(['a', 'u']) as string, looks: 1 + random.below(3), ...timeout };
    case 'subtask':
      return { kind, next: random.oneOf(['result', 'result', 'two results', 'cancel', 'nothing']) };
  }
}

function randomPure(random: Random) {
  return {
    kind: 'pure' as const,
    how: random.oneOf(['await', 'thenable', 'tick', 'microtask', 'nested', 'stream', 'web stream']),
    turns: random.chance(0.3) ? random.below(40) : 1 + random.below(5),
  };
}

/** Grows trees of so many nodes at most. */
function growth(random: Random, budget: number) {
  let left = budget;
  let ids = 0;
  const node = (one: Leaf | Branch): Node => ({ ...one, id: ids++ });
  const several = (part: () => Node) => Array.from({ length: 2 + random.below(3) }, part);

  const root = (depth: number): Node => node(branch(() => any(depth - 1)));

  const any = (depth: number): Node => {
    if (left-- <= 0) return node({ kind: 'pure', how: 'await', turns: 1 });
    return depth === 0 || random.chance(0.2) ? node(leaf()) : root(depth);
  };

  const leaf = (): Leaf => {
    const kind = random.weighted({ call: 78, pure: 14, now: 2, throw: 4, return: 2 });
    if (kind === 'call') return randomCall(random);
    return kind === 'pure' ? randomPure(random) : { kind };
  };

  const branch = (part: () => Node): Branch => {
    const inParts = { sequence: 26, all: 8, allSettled: 8, race: 8, any: 8 };
    const kind = random.weighted({ ...inParts, loop: 9, try: 15, dangle: 5, generator: 6, if: 7 });
    switch (kind) {
      case 'loop': {
        const body = part();
        // Some journals are longer than what is replayed in one turn of the event loop.
        const isLong = body.kind === 'step' && random.chance(0.05);
        const times = isLong ? 60 + random.below(60) : 2 + random.below(2);
        return { kind, times, together: random.chance(0.5), body };
      }
      case 'try': {
        const body = part();
        const rescue = random.chance(0.7) && { rescue: part() };
        return { kind, body, ...rescue, ...(random.chance(0.5) && { finally: part() }) };
      }
      case 'dangle':
        return { kind, body: part() };
      case 'if':
        return { kind, condition: part(), yes: part(), no: part() };
      default:
        return { kind, parts: several(part) };
    }
  };

  /** Leaves nothing open when it is over: no losers of a race, nothing that dangles, no event that came too late. */
  const closed = (depth: number): Node => {
    const part = () => closed(depth - 1);
    const kind = depth === 0 || left-- <= 0 ? 'leaf' : random.oneOf(['leaf', 'many', 'try']);
    if (kind === 'many') return node({ kind: 'allSettled', parts: several(part) });
    if (kind === 'try') return node({ kind: 'try', body: part(), rescue: part() });
    const call = randomCall(random);
    if (call.kind === 'subtask') return node({ ...call, next: 'result' });
    return node(call.kind === 'event' ? { kind: 'event', name: call.name } : call);
  };

  return { node, root, closed };
}
