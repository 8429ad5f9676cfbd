/**
 * Engines that break the law of replay, made from the engine's own source at test time. The files that differ are
 * written to a folder of their own; everything else they import is the real thing.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';

const engine = join(import.meta.dirname, '../../../src/engine');

export interface Weakness {
  readonly name: string;
  /** Whether it shows when tasks live on, or when handlers change. */
  readonly shownBy?: 'changes';
  /** The file of the engine, if it is another one than `pass.ts`. */
  readonly file?: string;
  /** Passages of the file, word for word, and what replaces each. */
  readonly changes: Readonly<Record<string, string>>;
}

const added = '\n    this.#open.add(call);';
const completed = '\n      this.#completed.push({ call: call.position, ...settlement });';
const passBegins = '\nexport class Pass {';
const settleOneByOne = `
      runtime.setImmediate(() => {
        held ||= this.#finished !== undefined`;

export const weaknesses: readonly Weakness[] = [
  {
    name: 'replay gives promises that are already settled',
    changes: {
      [added]: `${added}
    const entry = this.#journal.entries.find((one) => one.call === call.position);
    if (entry?.ok) call.resolve(entry.value);
    else if (entry) call.reject(errorFrom(entry.value));`,
    },
  },
  {
    name: 'entries settle in one go, with nothing drained in between',
    changes: { [settleOneByOne]: settleOneByOne.replace('runtime.setImmediate', 'queueMicrotask') },
  },
  {
    name: 'the drain between two entries is a fixed number of microtasks',
    changes: {
      [settleOneByOne]: settleOneByOne.replace('runtime.setImmediate(', 'afterTurns((n + 1) * 30, '),
      [passBegins]: `
function afterTurns(turns: number, act: () => void): void {
  if (turns === 0) act();
  else queueMicrotask(() => afterTurns(turns - 1, act));
}
${passBegins}`,
    },
  },
  {
    name: 'live calls settle when their work completes, before it is committed',
    changes: {
      [completed]: `${completed}
      this.#inWindow = true;
      if (settlement.ok) call.resolve(settlement.value);
      else call.reject(errorFrom(settlement.value));`,
    },
  },
  {
    name: 'live calls settle all at once after their commit',
    changes: {
      'else if (batch.entries.length > 0) this.#replay();': `else if (batch.entries.length > 0) {
          for (const _ of batch.entries) this.#settle(this.#journal.entries[this.#settled]!);
          runtime.setImmediate(() => this.#next());
        }`,
    },
  },
  {
    name: 'a handler may not end in the middle of a batch',
    changes: { 'entries[this.#settled - 1]!.batch === next.batch': 'this.#settled > entries.length' },
  },
  {
    name: 'the next attempt begins before the failed one is recorded',
    changes: { ' || unrecorded.has(call.position)': '' },
  },
  {
    name: 'two calls that wait for the same thing share its value',
    file: 'open-calls.ts',
    changes: { 'structuredClone(settlement)': 'settlement' },
  },
  {
    name: 'a call beside the last recorded ones is taken for a new one',
    shownBy: 'changes',
    file: 'replay.ts',
    changes: { 'made.at <= journal.knownUpTo': 'made.at < journal.knownUpTo' },
  },
  {
    name: 'recorded calls that are still open need not be made again',
    shownBy: 'changes',
    changes: {
      'else if (!this.#live && this.#calls.length < this.#journal.calls.length)': 'else if (false)',
    },
  },
];

/** The address of a `pass.ts` with this weakness. A passage that is not there, or there twice, is an error. */
export function weakenedPass({ name, file: changed = 'pass.ts', changes }: Weakness, folder: string): URL {
  mkdirSync(folder, { recursive: true });
  const files = new Set(['pass.ts', changed]);
  const addressOf = (file: string) => pathToFileURL(join(files.has(normalize(file)) ? folder : engine, file));
  for (const file of files) {
    let source = readFileSync(join(engine, file), 'utf8');
    for (const [from, to] of Object.entries(file === changed ? changes : {})) {
      const found = source.split(from).length - 1;
      if (found !== 1)
        throw new Error(`To test that ${name}, ${file} must hold this once, not ${found} times:${from}`);
      source = source.replace(from, () => to);
    }
    const moved = source.replaceAll(
      / from '(\.{1,2}\/[^']+)'/g,
      (_, path: string) => ` from '${addressOf(path)}'`,
    );
    writeFileSync(join(folder, file), moved);
  }
  return addressOf('pass.ts');
}
