/**
 * Engines that break the law of replay, made from the engine's own source at test time. The files that differ are
 * written to a folder of their own; everything else they import is the real thing.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { seedOfThisRun } from '../../kit/random.ts';
import type { Problem } from './checks.ts';

const engine = join(import.meta.dirname, '../../../src/engine/replay');

interface Weakness {
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

const weaknesses: readonly Weakness[] = [
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
    file: 'comparison.ts',
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

const seed = seedOfThisRun();
const isQuick = process.env.HOLDFAST_LANE === 'quick';
/** The quick lane tries one of them, which depends on the seed. */
const tried = isQuick ? [weaknesses[seed % weaknesses.length]] : weaknesses;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-weakened-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Checks random programs with a weakened engine, in a process of its own. */
async function problemsWith(weakness: Weakness, programs: number): Promise<readonly Problem[]> {
  const pass = weakenedPass(weakness, mkdtempSync(join(folder, 'engine-')));
  const child = join(import.meta.dirname, 'weakened-child.ts');
  // What hangs because it is weakened need not be waited for; what is not must have time on a busy machine.
  const patienceMs = Object.keys(weakness.changes).length > 0 ? 2_000 : 120_000;
  const options = [pass.href, weakness.shownBy ?? 'lives', seed, programs, patienceMs].map(String);
  const { stdout } = await promisify(execFile)(process.execPath, [child, ...options]);
  return JSON.parse(stdout);
}

for (const weakness of weaknesses) {
  const skip = !tried.includes(weakness);
  test(`the checks fail if ${weakness.name}`, { skip, timeout: 180_000 }, async () => {
    const problems = await problemsWith(weakness, 5_000);
    console.log(`seed ${problems[0]?.seed}, ${problems[0]?.check}: ${problems[0]?.what}`);
    expect(problems).not.toEqual([]);
  });
}

test('the checks do not fail if nothing is weakened', { timeout: 180_000 }, async () => {
  expect(await problemsWith({ name: 'nothing is weakened', changes: {} }, isQuick ? 20 : 100)).toEqual([]);
});

test('a weakness that no longer fits the source of the engine is an error', () => {
  const unfit = { name: 'it is unfit', changes: { 'no such passage': '' } };
  expect(() => weakenedPass(unfit, join(folder, 'unfit'))).toThrow(
    /pass\.ts must hold this once, not 0 times/,
  );
});

/** The address of a `pass.ts` with this weakness. A passage that is not there, or there twice, is an error. */
function weakenedPass({ name, file: changed = 'pass.ts', changes }: Weakness, folder: string): URL {
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
