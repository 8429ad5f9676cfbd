/**
 * Plays a program as a handler. Every turn that it takes goes into a log whose order, together with the value of each
 * call, gives away the slightest change of interleaving; values are checked where they arrive, and then spoilt, so
 * that one which the journal or another branch shares would be noticed.
 */
import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { isDeepStrictEqual } from 'node:util';
import { type DurableTool, durableTool } from '../../../src/engine/handlers/tool.ts';
import { ProtocolError, TerminalError } from '../../../src/engine/replay/recorded-error.ts';
import type { Schema, StepContext, TaskContext, TaskId } from '../../../src/index.ts';
import { HoldfastError, hasCode } from '../../../src/model/errors.ts';
import { hash } from '../../kit/random.ts';
import type { Node, Program, Pure } from './program.ts';

export interface Story {
  readonly how: 'returned' | 'threw';
  readonly value: number | string;
  readonly log: readonly string[];
  /** What `task.now()` returned. */
  readonly moments: readonly number[];
}

export class Threw extends Error {
  readonly story: Story;

  constructor(story: Story) {
    super(String(story.value));
    this.story = story;
  }
}

type Step = Extract<Node, { kind: 'step' }>;
type Some<K extends Node['kind']> = Extract<Node, { kind: K }>;

/** What steps and polls do, and who answers: the part of a handler that is not pure. */
export interface Effects {
  step(path: string, step: Step, context: StepContext): unknown;
  look(path: string, poll: Some<'until'>): unknown;
  expects(event: string): void;
  begins?(): void;
  /** Subtasks by the order in which they were started: their ids are never twice the same. */
  ordinalOf(id: TaskId): number;
}

/** What programs start. Where it really runs, it ends in one of several ways. */
export const subtaskTool: DurableTool = durableTool('subtask', {}, async (_, task) => {
  const number = hash(task.id) % 4;
  if (number === 0) throw new Error('not today');
  if (number === 1) throw new ProtocolError(-32_000, 'never');
  if (number === 2) await task.sleep(9);
  return `${number}`;
});

class EarlyReturn extends Error {}

/** A wrong value is a failure of the engine, and ends up in the log, where no other run has it. */
export const wrong = 'WRONG';

export function wrongValues({ log }: Story): string[] {
  return log.filter((line) => line.startsWith(wrong));
}

/** Rejects with `Threw`, or resolves to the story. */
export async function tell({ names, root }: Program, task: TaskContext, effects: Effects): Promise<Story> {
  const log: string[] = [];
  const moments: number[] = [];
  const note = (line: string) => log.push(line);
  const now = () => {
    moments.push(task.now());
    return moments.at(-1)!;
  };

  const step = async (node: Step, path: string, name: string): Promise<unknown> => {
    const options = node.attempts > 1 ? { retry: { attempts: node.attempts, delay: node.delay } } : {};
    try {
      const run = (context: StepContext) => effects.step(path, node, context) as object;
      const value = await task.step(name, run, options);
      if (fails(node) || text(value) !== text(givenBy(node, path)))
        note(`${wrong}: ${path} gave ${text(value)}`);
      return value;
    } catch (error) {
      if (!fails(node) || !isFailureOf(node, path, error))
        note(`${wrong}: ${path} failed with ${text(error)}`);
      throw error;
    }
  };

  const subtask = async ({ next }: Some<'subtask'>, path: string): Promise<unknown> => {
    const started = await task.start(subtaskTool);
    const ordinal = effects.ordinalOf(started.id);
    note(`${path} started ${ordinal}`);
    if (next === 'nothing') return ordinal;
    if (next === 'cancel') {
      await started.cancel(path);
      note(`${path} cancelled`);
    }
    if (next === 'two results') {
      const [one, other] = await Promise.all([started.result(), started.result()]);
      spoil(one);
      return other;
    }
    return started.result();
  };

  const call = (node: Some<'step' | 'ask' | 'sleep' | 'event' | 'until' | 'subtask'>, path: string) => {
    if (node.kind === 'subtask') return subtask(node, path);
    if (node.kind === 'sleep') return node.until ? task.sleepUntil(now() + node.ms) : task.sleep(node.ms);
    const name = names === 'distinct' ? `${node.name}${path}` : node.name;
    if (node.kind === 'step') return step(node, path, name);
    const patience = node.timeout === undefined ? {} : { timeout: node.timeout };
    switch (node.kind) {
      case 'ask':
        // Which of the forms of a question it is makes no difference to its type here.
        return task.ask(name, questions[node.form] as { readonly roots: true }, patience);
      case 'event':
        effects.expects(name);
        return task.waitForEvent(name, patience);
      case 'until':
        return task.waitForCondition(name, () => effects.look(path, node), { every: 7, ...patience });
    }
  };

  /** The value is a number that depends on everything below the node. */
  const run = async (node: Node, above: string): Promise<number> => {
    const path = `${above}.${node.id}`;
    effects.begins?.();
    const again = (body: Node) => (_: unknown, round: number) => () => run(body, `${path}#${round}`);
    /** What it runs one after the other, or side by side. */
    const branches =
      node.kind === 'loop'
        ? Array.from({ length: node.times }, again(node.body))
        : 'parts' in node
          ? node.parts.map((part) => () => run(part, path))
          : [];
    const together = () => branches.map((branch) => branch());
    async function* generate(): AsyncGenerator<number> {
      try {
        for (const branch of branches) yield await branch();
      } finally {
        note(`${path} closed`);
      }
    }
    let sum = 0;
    switch (node.kind) {
      case 'pure':
        await pureWait(node);
        note(`${path} went on`);
        return node.turns;
      case 'timer':
        await new Promise((resolve) => setTimeout(resolve, node.ms));
        note(`${path} went on`);
        return 1;
      case 'now':
        now();
        return 3;
      case 'throw':
        throw new Error(path);
      case 'return':
        throw new EarlyReturn(path);
      case 'gone':
        return 0;
      case 'sequence':
      case 'all':
      case 'loop':
        if (node.kind === 'all' || (node.kind === 'loop' && node.together))
          return total(await Promise.all(together()));
        for (const branch of branches) sum += await branch();
        return sum;
      case 'generator':
        for await (const value of generate()) {
          sum += value;
          if (value % 7 === 3) break;
        }
        return sum;
      case 'allSettled': {
        const ends = await Promise.allSettled(together());
        return total(ends.map((end) => (end.status === 'fulfilled' ? end.value : 5)));
      }
      case 'race':
      case 'any': {
        const first = await (node.kind === 'race' ? Promise.race(together()) : Promise.any(together()));
        note(`${path} won by ${first}`);
        return first;
      }
      case 'try':
        try {
          return await run(node.body, path);
        } catch (error) {
          note(`${path} caught ${text(error)}`);
          if (!node.rescue) throw error;
          return await run(node.rescue, path);
        } finally {
          note(`${path} finally`);
          if (node.finally) await run(node.finally, path);
        }
      case 'dangle':
        run(node.body, path).then(
          (value) => note(`${path} came to ${value}`),
          (error) => note(`${path} threw ${text(error)}`),
        );
        return 2;
      case 'if': {
        const value = await run(node.condition, path);
        return run((value + log.length) % 2 === 0 ? node.yes : node.no, path);
      }
      default:
        note(`${path} ${node.kind}`);
        try {
          const value = await call(node, path);
          note(`${path} gave ${text(value)}`);
          const number = hash(text(value)) % 100;
          spoil(value);
          return number;
        } catch (error) {
          note(`${path} failed ${text(error)}`);
          throw error;
        }
    }
  };

  const story = (how: Story['how'], value: Story['value']): Story =>
    structuredClone({ how, value, log, moments });
  try {
    return story('returned', await run(root, ''));
  } catch (error) {
    if (error instanceof EarlyReturn) return story('returned', error.message);
    throw new Threw(story('threw', text(error)));
  }
}

const questions: Readonly<Record<Some<'ask'>['form'], object>> = {
  form: { message: 'A number?', schema: numberForm(0) },
  'slow form': { message: 'A number?', schema: numberForm(9) },
  url: { message: 'Please sign', url: 'https://example.org/sign' },
  sampling: { sampling: { maxTokens: 5, messages: [] } },
  roots: { roots: true },
};

/** A schema that takes some turns to check a value, and changes it. */
function numberForm(turns: number): Schema<{ n: number }, { n: number; checked: true }> {
  const check = (value: unknown) => ({ value: { ...(value as { n: number }), checked: true as const } });
  return {
    '~standard': {
      version: 1,
      vendor: 'replay tests',
      validate: (value) =>
        turns === 0 ? check(value) : pureWait({ how: 'await', turns }).then(() => check(value)),
      jsonSchema: {
        input: () => ({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }),
      },
    },
  };
}

/** One turn of each kind: nothing but ticks and microtasks leads out of it. */
const turns = {
  await: () => null,
  tick: () => new Promise<void>((resolve) => process.nextTick(resolve)),
  microtask: () => new Promise<void>((resolve) => queueMicrotask(resolve)),
  nested: async () => await (async () => {})(),
  // biome-ignore lint/suspicious/noThenProperty: a thenable takes other turns than a promise.
  thenable: () => ({ then: (resolve: () => void) => queueMicrotask(resolve) }),
};

async function pureWait({ how, turns: count }: Pick<Pure, 'how' | 'turns'>): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => `${n}`);
  if (how === 'stream') for await (const _ of Readable.from(items));
  else if (how === 'web stream') for await (const _ of ReadableStream.from(items));
  else for (const _ of items) await turns[how]();
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** A handler owns the values that it gets: whatever it does to them, no replay and no other branch may see it. */
function spoil(value: unknown): void {
  if (Array.isArray(value)) value.push('spoilt');
  else if (typeof value === 'object' && value !== null) Object.assign(value, { spoilt: true });
}

const values: Readonly<Record<Step['gives'], (path: string) => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  text: (path) => path,
  number: (path) => hash(path),
  list: (path) => [path, hash(path), null],
  object: (path) => ({ path, more: { list: [true, path] } }),
};

/** What a failing attempt throws, or returns although it is not JSON. */
const errors: Readonly<Record<Step['error'], (path: string) => unknown>> = {
  plain: (path) => new Error(path),
  typed: (path) => new TypeError(path),
  final: (path) => new TerminalError(path),
  protocol: (path) => new ProtocolError(-32_000, path, { path }),
  text: (path) => path,
  'not JSON': (path) => ({ path, big: 1n }),
};

function givenBy({ gives }: Step, path: string): unknown {
  return values[gives](path);
}

/** Lets one attempt at a step end as the program says. */
export function endOf(step: Step, path: string, attempt: number): unknown {
  if (attempt > step.failures) return givenBy(step, path);
  const error = errors[step.error](path);
  if (step.error === 'not JSON') return error;
  throw error;
}

function fails({ failures, attempts, error }: Step): boolean {
  return failures > 0 && (failures >= attempts || error === 'final' || error === 'not JSON');
}

/** Whether this is the very error that the handler must get: of a class that it can tell apart, if we made that. */
function isFailureOf({ error }: Step, path: string, thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (error === 'not JSON') return hasCode(thrown, 'NOT_JSON') && thrown.message.includes('"big"');
  const made = error === 'text' ? new Error(path) : (errors[error](path) as Error);
  const isOurs = made instanceof HoldfastError;
  return text(thrown) === text(made) && (!isOurs || isDeepStrictEqual(thrown, made));
}

function text(value: unknown): string {
  if (value instanceof Error) return `${value.name} ${value.message}`;
  return JSON.stringify(value) ?? 'nothing';
}
