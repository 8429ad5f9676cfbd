/**
 * Random handlers as trees of calls. A tree is the input of its task, so that every process runs the same one, and its
 * result is known in advance: despite all faults, the task must end with this result, be cancelled, or meet its
 * deadline.
 */
import type { Random } from './random.ts';

export type Node =
  | {
      readonly do: 'step';
      readonly name: string;
      readonly value: string;
      readonly ms: number;
      readonly fails: number;
    }
  | { readonly do: 'sleep'; readonly name: string; readonly ms: number }
  | { readonly do: 'ask'; readonly key: string }
  | { readonly do: 'event'; readonly name: string }
  | { readonly do: 'until'; readonly name: string; readonly polls: number }
  | { readonly do: 'subtask'; readonly program: Program }
  | { readonly do: 'all'; readonly parts: readonly Node[] }
  | { readonly do: 'report'; readonly done: number }
  /** Ends its process `deaths` times. */
  | { readonly do: 'poison'; readonly name: string; readonly deaths: number }
  /** Throws any kind of value. */
  | { readonly do: 'throw'; readonly what: Thrown };

const thrown = ['error', 'text', 'nothing', 'null', 'object', 'function'] as const;
type Thrown = (typeof thrown)[number];

export interface Program {
  readonly name: string;
  readonly parts: readonly Node[];
}

/** The attempts of a step: enough for those that fail at first. */
export const attempts = 4;

export function randomProgram(random: Random, name: string, depth = 2): Program {
  const keys = { asked: 0, steps: 0, children: 0, events: 0 };
  const leaf = (inner: number): Node => {
    const kind = random.weighted({
      step: 50,
      sleep: 8,
      ask: 10,
      event: 6,
      until: 5,
      subtask: inner > 0 ? 10 : 0,
      all: inner > 0 ? 8 : 0,
      report: 8,
      throw: 3,
      poison: 1,
    });
    switch (kind) {
      case 'step': {
        const step = `s${++keys.steps}`;
        const fails = random.chance(0.2) ? random.between(1, attempts - 1) : 0;
        const ms = random.chance(0.1) ? random.between(3_000, 8_000) : random.between(0, 1_000);
        return { do: kind, name: step, value: `${name}/${step}`, ms, fails };
      }
      case 'sleep':
        return { do: kind, name: `z${++keys.steps}`, ms: random.between(1, 4_000) };
      case 'ask':
        return { do: kind, key: `q${++keys.asked}` };
      case 'event':
        return { do: kind, name: `e${++keys.events}` };
      case 'until':
        return { do: kind, name: `u${++keys.steps}`, polls: random.between(1, 3) };
      case 'subtask':
        return { do: kind, program: randomProgram(random, `${name}.${++keys.children}`, depth - 1) };
      case 'all':
        return { do: kind, parts: Array.from({ length: random.between(2, 4) }, () => leaf(inner - 1)) };
      case 'report':
        return { do: kind, done: ++keys.steps };
      case 'throw':
        return { do: kind, what: random.pick(thrown) };
      case 'poison':
        return { do: kind, name: `p${++keys.steps}`, deaths: random.between(1, 2) };
    }
  };
  return { name, parts: Array.from({ length: random.between(1, 4) }, () => leaf(depth)) };
}

/** Answers and event values are derived from the program's name and the key. */
export const answerTo = (name: string, key: string) => `${name}?${key}`;
export const eventOf = (name: string, event: string) => `${name}!${event}`;

export type Expected = { readonly result: string } | { readonly fails: true };

/** The result of a program, unless it is cancelled or meets its deadline. */
export function expectedOf({ name, parts }: Program): Expected {
  const values: string[] = [];
  for (const part of parts) {
    const value = givenBy(name, part);
    if (value === undefined) return { fails: true };
    values.push(value);
  }
  return { result: values.join(' ') };
}

function givenBy(name: string, node: Node): string | undefined {
  switch (node.do) {
    case 'step':
      return node.value;
    case 'ask':
      return answerTo(name, node.key);
    case 'event':
      return eventOf(name, node.name);
    case 'until':
      return node.name;
    case 'subtask': {
      const child = expectedOf(node.program);
      return 'result' in child ? `(${child.result})` : '(failed)';
    }
    case 'all': {
      const values = node.parts.map((part) => givenBy(name, part));
      return values.includes(undefined) ? undefined : `[${values.join(' ')}]`;
    }
    case 'throw':
      return undefined;
    default:
      return node.do;
  }
}

/** The program and all programs of its subtasks. */
export function* programsIn(program: Program): Generator<Program> {
  yield program;
  const inside = (nodes: readonly Node[]): Program[] =>
    nodes.flatMap((node) =>
      node.do === 'subtask' ? [...programsIn(node.program)] : node.do === 'all' ? inside(node.parts) : [],
    );
  yield* inside(program.parts);
}

export function whatIsThrown(what: Thrown): unknown {
  switch (what) {
    case 'error':
      return new Error('It went wrong.');
    case 'text':
      return 'It went wrong.';
    case 'nothing':
      return undefined;
    case 'null':
      return null;
    case 'object':
      return { toString: () => 'It went wrong.' };
    case 'function':
      return () => 'It went wrong.';
  }
}
