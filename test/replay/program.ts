/**
 * Random handlers, as trees. A tree says what a handler does between and around its calls: everything that plain
 * JavaScript offers to run things beside and after one another, and every call that `task` has.
 */
import { Chance } from './chance.ts';

/** Calls on `task`, and waits that the journal need not know. */
export type Leaf =
  | {
      readonly kind: 'step';
      readonly name: string;
      readonly gives: 'nothing' | 'null' | 'text' | 'number' | 'list' | 'object';
      /** So many attempts fail before one succeeds. */
      readonly failures: number;
      readonly attempts: number;
      readonly delay: number;
      readonly error: 'plain' | 'typed' | 'final' | 'protocol' | 'text' | 'not JSON';
    }
  | {
      readonly kind: 'ask';
      readonly name: string;
      readonly form: 'form' | 'slow form' | 'url' | 'sampling' | 'roots';
      readonly timeout?: number;
    }
  | { readonly kind: 'sleep'; readonly ms: number; readonly until: boolean }
  | { readonly kind: 'event'; readonly name: string; readonly timeout?: number }
  | { readonly kind: 'until'; readonly name: string; readonly looks: number; readonly timeout?: number }
  | { readonly kind: 'subtask'; readonly next: 'result' | 'two results' | 'cancel' | 'nothing' }
  | {
      readonly kind: 'pure';
      readonly how: 'await' | 'thenable' | 'tick' | 'microtask' | 'nested' | 'stream' | 'web stream';
      readonly turns: number;
    }
  /** An await that the journal does not know. Only programs made for it have any. */
  | { readonly kind: 'timer'; readonly ms: number }
  | { readonly kind: 'now' }
  | { readonly kind: 'throw' }
  | { readonly kind: 'return' }
  /** Where something was, before the handler was changed. */
  | { readonly kind: 'gone' };

export type Branch =
  | { readonly kind: 'sequence' | 'all' | 'allSettled' | 'race' | 'any'; readonly parts: readonly Node[] }
  | { readonly kind: 'loop'; readonly times: number; readonly together: boolean; readonly body: Node }
  | { readonly kind: 'try'; readonly body: Node; readonly rescue?: Node; readonly finally?: Node }
  | { readonly kind: 'dangle'; readonly body: Node }
  | { readonly kind: 'generator'; readonly parts: readonly Node[] }
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
  return { seed, names, root: new Growth(new Chance('program', seed), 32).root(5) };
}

export function* randomPrograms(
  firstSeed: number,
  count: number,
  names: Program['names'] = 'equal',
): Generator<Program> {
  for (let n = 0; n < count; n++) yield randomProgram(firstSeed + n, names);
}

export function* randomProgramsWithTimers(firstSeed: number, count: number): Generator<Program> {
  for (let n = 0; n < count; n++) yield randomProgramWithTimers(firstSeed + n);
}

/** Timers outside steps, each with nothing open beside it. */
function randomProgramWithTimers(seed: number): Program {
  const chance = new Chance('timers', seed);
  const growth = new Growth(chance, 14);
  const parts: Node[] = [];
  for (let n = 0; n < 3; n++) parts.push(growth.timer(), growth.closedNode(2));
  return { seed, names: 'equal', root: growth.sequence(parts) };
}

class Growth {
  readonly #chance: Chance;
  /** Nodes that may still grow. */
  #budget: number;
  #ids = 0;

  constructor(chance: Chance, budget: number) {
    this.#chance = chance;
    this.#budget = budget;
  }

  root(depth: number): Node {
    return this.#with(this.#branch(() => this.node(depth - 1)));
  }

  node(depth: number): Node {
    if (this.#budget-- <= 0) return this.#with({ kind: 'pure', how: 'await', turns: 1 });
    if (depth === 0 || this.#chance.of(0.2)) return this.#with(this.#leaf());
    return this.#with(this.#branch(() => this.node(depth - 1)));
  }

  /** Leaves nothing open when it is over: no losers of a race, nothing that dangles, no event that came too late. */
  closedNode(depth: number): Node {
    const part = () => this.closedNode(depth - 1);
    const kind = depth === 0 || this.#budget-- <= 0 ? 'leaf' : this.#chance.oneOf(['leaf', 'many', 'try']);
    if (kind === 'many') return this.#with({ kind: 'allSettled', parts: this.#several(part) });
    if (kind === 'try') return this.#with({ kind: 'try', body: part(), rescue: part() });
    const leaf = this.#call();
    if (leaf.kind === 'subtask') return this.#with({ ...leaf, next: 'result' });
    return this.#with(leaf.kind === 'event' ? { kind: 'event', name: leaf.name } : leaf);
  }

  timer(): Node {
    return this.#with({ kind: 'timer', ms: this.#chance.below(3) });
  }

  sequence(parts: readonly Node[]): Node {
    return this.#with({ kind: 'sequence', parts });
  }

  #leaf(): Leaf {
    const chance = this.#chance;
    const kind = chance.weighted({ call: 78, pure: 14, now: 2, throw: 4, return: 2 });
    if (kind === 'call') return this.#call();
    if (kind !== 'pure') return { kind };
    return {
      kind,
      how: chance.oneOf(['await', 'thenable', 'tick', 'microtask', 'nested', 'stream', 'web stream']),
      turns: chance.of(0.3) ? chance.below(40) : 1 + chance.below(5),
    };
  }

  #call(): Leaf {
    const chance = this.#chance;
    const kind = chance.weighted({ step: 55, ask: 10, sleep: 9, event: 8, until: 7, subtask: 11 });
    const timeout = chance.of(0.3) ? { timeout: 1 + chance.below(60) } : {};
    switch (kind) {
      case 'step': {
        const attempts = chance.of(0.3) ? 2 + chance.below(2) : 1;
        return {
          kind,
          name: chance.oneOf(['a', 'b', 'c']),
          gives: chance.oneOf(['nothing', 'null', 'text', 'number', 'list', 'object']),
          failures: chance.of(attempts > 1 ? 0.6 : 0.2) ? 1 + chance.below(attempts) : 0,
          attempts,
          delay: chance.oneOf([0, 11]),
          error: chance.oneOf(['plain', 'typed', 'final', 'protocol', 'text', 'not JSON']),
        };
      }
      case 'ask': {
        const form = chance.oneOf(['form', 'slow form', 'url', 'sampling', 'roots'] as const);
        return { kind, name: chance.oneOf(['p', 'q']), form, ...timeout };
      }
      case 'sleep':
        return { kind, ms: chance.below(60), until: chance.of(0.3) };
      case 'event':
        return { kind, name: chance.oneOf(['x', 'y', 'z']), ...timeout };
      case 'until':
        return { kind, name: chance.oneOf(['a', 'u']), looks: 1 + chance.below(3), ...timeout };
      case 'subtask':
        return { kind, next: chance.oneOf(['result', 'result', 'two results', 'cancel', 'nothing']) };
    }
  }

  #branch(part: () => Node): Branch {
    const chance = this.#chance;
    const kind = chance.weighted({
      sequence: 26,
      all: 8,
      allSettled: 8,
      race: 8,
      any: 8,
      loop: 9,
      try: 15,
      dangle: 5,
      generator: 6,
      if: 7,
    });
    switch (kind) {
      case 'loop': {
        const body = part();
        // Some journals are longer than what is replayed in one turn of the event loop.
        const isLong = body.kind === 'step' && chance.of(0.05);
        const times = isLong ? 60 + chance.below(60) : 2 + chance.below(2);
        return { kind, times, together: chance.of(0.5), body };
      }
      case 'try':
        return {
          kind,
          body: part(),
          ...(chance.of(0.7) && { rescue: part() }),
          ...(chance.of(0.5) && { finally: part() }),
        };
      case 'dangle':
        return { kind, body: part() };
      case 'if':
        return { kind, condition: part(), yes: part(), no: part() };
      default:
        return { kind, parts: this.#several(part) };
    }
  }

  #several(part: () => Node): Node[] {
    return Array.from({ length: 2 + this.#chance.below(3) }, part);
  }

  #with(node: Leaf | Branch): Node {
    return { ...node, id: this.#ids++ };
  }
}
