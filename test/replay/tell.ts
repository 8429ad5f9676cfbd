/**
 * Plays a program as a handler. Every turn that it takes goes into a log whose order, together with the value of each
 * call, gives away the slightest change of interleaving; values are checked where they arrive, and then spoilt, so
 * that one which the journal or another branch shares would be noticed.
 */
import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import type { StepContext } from '../../src/engine/call.ts';
import type { TaskContext } from '../../src/engine/context.ts';
import { ProtocolError } from '../../src/engine/recorded-error.ts';
import type { Schema } from '../../src/engine/schema.ts';
import { type DurableTool, durableTool } from '../../src/engine/tool.ts';
import type { TaskId } from '../../src/model/task.ts';
import { hash } from './chance.ts';
import type { Node, Program } from './program.ts';
import { fails, givenBy, isFailureOf, type Step, text } from './step-ends.ts';

/** How a handler ended, and everything that it noticed on the way. */
export interface Story {
  readonly how: 'returned' | 'threw';
  readonly value: number | string;
  readonly log: readonly string[];
  /** What `task.now()` said. */
  readonly moments: readonly number[];
}

export class Threw extends Error {
  readonly story: Story;

  constructor(story: Story) {
    super(String(story.value));
    this.story = story;
  }
}

type Poll = Extract<Node, { kind: 'until' }>;

/** What steps and polls do, and who answers: the part of a handler that is not pure. */
export interface Effects {
  step(path: string, step: Step, context: StepContext): unknown;
  look(path: string, poll: Poll, context: StepContext): unknown;
  /** The handler will wait for this event. */
  expects(event: string): void;
  /** The handler has begun this node. */
  begins?(node: Node, path: string): void;
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

/** Rejects with `Threw`, or resolves to the story. */
export async function tell(program: Program, task: TaskContext, effects: Effects): Promise<Story> {
  const telling = new Telling(program, task, effects);
  const { log, moments } = telling;
  const end = (how: Story['how'], value: Story['value']) => ({
    how,
    value,
    log: [...log],
    moments: [...moments],
  });
  try {
    return end('returned', await telling.run(program.root, ''));
  } catch (error) {
    if (error instanceof EarlyReturn) return end('returned', error.message);
    throw new Threw(end('threw', text(error)));
  }
}

class EarlyReturn extends Error {}

/** A wrong value is a failure of the engine, and ends up in the log, where no other run has it. */
export const wrong = 'WRONG';

export function wrongValues({ log }: Story): string[] {
  return log.filter((line) => line.startsWith(wrong));
}

class Telling {
  readonly log: string[] = [];
  readonly moments: number[] = [];
  readonly #program: Program;
  readonly #task: TaskContext;
  readonly #effects: Effects;

  constructor(program: Program, task: TaskContext, effects: Effects) {
    this.#program = program;
    this.#task = task;
    this.#effects = effects;
  }

  /** The value is a number that depends on everything below the node. */
  async run(node: Node, above: string): Promise<number> {
    const path = `${above}.${node.id}`;
    this.#effects.begins?.(node, path);
    switch (node.kind) {
      case 'step':
      case 'ask':
      case 'sleep':
      case 'event':
      case 'until':
      case 'subtask':
        return this.#call(node, path);
      case 'pure':
        await pureWait(node.how, node.turns);
        this.#say(`${path} went on`);
        return node.turns;
      case 'timer':
        await new Promise((resolve) => setTimeout(resolve, node.ms));
        this.#say(`${path} went on`);
        return 1;
      case 'now':
        this.moments.push(this.#task.now());
        return 3;
      case 'throw':
        throw new Error(path);
      case 'return':
        throw new EarlyReturn(path);
      case 'gone':
        return 0;
      case 'sequence': {
        let sum = 0;
        for (const part of node.parts) sum += await this.run(part, path);
        return sum;
      }
      case 'all':
        return total(await Promise.all(node.parts.map((part) => this.run(part, path))));
      case 'allSettled': {
        const ends = await Promise.allSettled(node.parts.map((part) => this.run(part, path)));
        return total(ends.map((end) => (end.status === 'fulfilled' ? end.value : 5)));
      }
      case 'race': {
        const first = await Promise.race(node.parts.map((part) => this.run(part, path)));
        this.#say(`${path} won by ${first}`);
        return first;
      }
      case 'any': {
        const first = await Promise.any(node.parts.map((part) => this.run(part, path)));
        this.#say(`${path} won by ${first}`);
        return first;
      }
      case 'loop': {
        const rounds = Array.from({ length: node.times }, (_, round) => `${path}#${round}`);
        if (node.together) return total(await Promise.all(rounds.map((round) => this.run(node.body, round))));
        let sum = 0;
        for (const round of rounds) sum += await this.run(node.body, round);
        return sum;
      }
      case 'try':
        try {
          return await this.run(node.body, path);
        } catch (error) {
          this.#say(`${path} caught ${text(error)}`);
          if (!node.rescue) throw error;
          return await this.run(node.rescue, path);
        } finally {
          this.#say(`${path} finally`);
          if (node.finally) await this.run(node.finally, path);
        }
      case 'dangle':
        this.run(node.body, path).then(
          (value) => this.#say(`${path} came to ${value}`),
          (error) => this.#say(`${path} threw ${text(error)}`),
        );
        return 2;
      case 'generator': {
        let sum = 0;
        for await (const value of this.#generate(node.parts, path)) {
          sum += value;
          if (value % 7 === 3) break;
        }
        return sum;
      }
      case 'if': {
        const value = await this.run(node.condition, path);
        return this.run((value + this.log.length) % 2 === 0 ? node.yes : node.no, path);
      }
    }
  }

  async *#generate(parts: readonly Node[], path: string): AsyncGenerator<number> {
    try {
      for (const part of parts) yield await this.run(part, path);
    } finally {
      this.#say(`${path} closed`);
    }
  }

  async #call(node: Node, path: string): Promise<number> {
    this.#say(`${path} ${node.kind}`);
    try {
      const value = await this.#settled(node, path);
      this.#say(`${path} gave ${text(value)}`);
      const number = hash(text(value)) % 100;
      spoil(value);
      return number;
    } catch (error) {
      this.#say(`${path} failed ${text(error)}`);
      throw error;
    }
  }

  async #settled(node: Node, path: string): Promise<unknown> {
    const task = this.#task;
    const named = (name: string) => (this.#program.names === 'distinct' ? `${name}${path}` : name);
    const patience = 'timeout' in node && node.timeout !== undefined ? { timeout: node.timeout } : {};
    switch (node.kind) {
      case 'step':
        return this.#step(node, path, named(node.name));
      case 'ask':
        return ask(task, named(node.name), node.form, patience);
      case 'sleep':
        return node.until ? task.sleepUntil(this.#now() + node.ms) : task.sleep(node.ms);
      case 'event':
        this.#effects.expects(named(node.name));
        return task.event(named(node.name), patience);
      case 'until':
        return task.until(named(node.name), (context) => this.#effects.look(path, node, context), {
          every: 7,
          ...patience,
        });
      case 'subtask':
        return this.#subtask(node.next, path);
      default:
        throw new TypeError(`${node.kind} is no call.`);
    }
  }

  async #step(node: Step, path: string, name: string): Promise<unknown> {
    const options = node.attempts > 1 ? { retry: { attempts: node.attempts, delay: node.delay } } : {};
    try {
      const value = await this.#task.step(
        name,
        (context) => this.#effects.step(path, node, context) as object,
        options,
      );
      if (fails(node) || text(value) !== text(givenBy(node, path)))
        this.#say(`${wrong}: ${path} gave ${text(value)}`);
      return value;
    } catch (error) {
      if (!fails(node) || !isFailureOf(node, path, error))
        this.#say(`${wrong}: ${path} failed with ${text(error)}`);
      throw error;
    }
  }

  async #subtask(next: 'result' | 'two results' | 'cancel' | 'nothing', path: string): Promise<unknown> {
    const subtask = await this.#task.start(subtaskTool);
    const ordinal = this.#effects.ordinalOf(subtask.id);
    this.#say(`${path} started ${ordinal}`);
    if (next === 'nothing') return ordinal;
    if (next === 'cancel') {
      await subtask.cancel(path);
      this.#say(`${path} cancelled`);
    }
    if (next === 'two results') {
      const [one, other] = await Promise.all([subtask.result(), subtask.result()]);
      spoil(one);
      return other;
    }
    return subtask.result();
  }

  #now(): number {
    const now = this.#task.now();
    this.moments.push(now);
    return now;
  }

  #say(line: string): void {
    this.log.push(line);
  }
}

async function ask(
  task: TaskContext,
  key: string,
  form: Extract<Node, { kind: 'ask' }>['form'],
  patience: { timeout?: number },
): Promise<unknown> {
  switch (form) {
    case 'form':
      return task.ask(key, { message: 'A number?', schema: numberForm(0) }, patience);
    case 'slow form':
      return task.ask(key, { message: 'A number?', schema: numberForm(9) }, patience);
    case 'url':
      return task.ask(key, { message: 'Please sign', url: 'https://example.org/sign' }, patience);
    case 'sampling':
      return task.ask(key, { sampling: { maxTokens: 5, messages: [] } }, patience);
    case 'roots':
      return task.ask(key, { roots: true }, patience);
  }
}

/** A schema that takes some turns to check a value, and changes it. */
function numberForm(turns: number): Schema<{ n: number }, { n: number; checked: true }> {
  const check = (value: unknown) => ({ value: { ...(value as { n: number }), checked: true as const } });
  return {
    '~standard': {
      version: 1,
      vendor: 'replay tests',
      validate: (value) => (turns === 0 ? check(value) : pureWait('await', turns).then(() => check(value))),
      jsonSchema: {
        input: () => ({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }),
      },
    },
  };
}

/** Waits that need no journal: nothing but ticks and microtasks leads out of them. */
async function pureWait(how: Extract<Node, { kind: 'pure' }>['how'], turns: number): Promise<void> {
  if (how === 'stream') {
    for await (const _ of Readable.from(Array.from({ length: turns }, (_, n) => `${n}`)));
    return;
  }
  if (how === 'web stream') {
    for await (const _ of ReadableStream.from(Array.from({ length: turns }, (_, n) => n)));
    return;
  }
  for (let turn = 0; turn < turns; turn++) {
    if (how === 'await') await null;
    else if (how === 'tick') await new Promise<void>((resolve) => process.nextTick(resolve));
    else if (how === 'microtask') await new Promise<void>((resolve) => queueMicrotask(resolve));
    else if (how === 'nested') await (async () => await (async () => {})())();
    // biome-ignore lint/suspicious/noThenProperty: a thenable takes other turns than a promise.
    else await { then: (resolve: () => void) => queueMicrotask(resolve) };
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** A handler owns the values that it gets: whatever it does to them, no replay and no other branch may see it. */
function spoil(value: unknown): void {
  if (Array.isArray(value)) value.push('spoilt');
  else if (typeof value === 'object' && value !== null) Object.assign(value, { spoilt: true });
}
