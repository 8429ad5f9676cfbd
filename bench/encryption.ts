/** An encrypted store compared with a plain one, and the time to encrypt an existing file. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openSqlite, type SqliteOptions } from '../src/sqlite.ts';
import { copy, fill } from './fixture.ts';
import { inFolder } from './folder.ts';
import { interleave, type Turns } from './measure.ts';
import type { Comparison, Findings, Rate, Suite } from './report.ts';
import { type OperationName, openStore, operations } from './sides.ts';

interface Plan {
  readonly size: number;
  readonly turns: Readonly<Record<OperationName, Turns>>;
}

const full: Plan = {
  size: 50_000,
  turns: {
    get: { rounds: 200, chunk: 100 },
    'newest list page': { rounds: 200, chunk: 10 },
    'any list page': { rounds: 200, chunk: 10 },
    'commit of a step': { rounds: 400, chunk: 8 },
    answer: { rounds: 400, chunk: 8 },
    'durable create': { rounds: 400, chunk: 8 },
  },
};

const quick: Plan = {
  size: 2_000,
  turns: {
    get: { rounds: 10, chunk: 100 },
    'newest list page': { rounds: 10, chunk: 5 },
    'any list page': { rounds: 10, chunk: 5 },
    'commit of a step': { rounds: 12, chunk: 8 },
    answer: { rounds: 12, chunk: 8 },
    'durable create': { rounds: 12, chunk: 8 },
  },
};

export const encryption: Suite = {
  name: 'encryption',
  run: ({ quick: isQuick }) => inFolder((folder) => compare(folder, isQuick ? quick : full)),
};

async function compare(folder: string, { size, turns }: Plan): Promise<Findings> {
  const file = (name: string) => join(folder, `${name}.db`);
  const keys = { a: randomBytes(32), b: randomBytes(32) };
  await fill(file('plain pristine'), size);
  copy(file('plain pristine'), file('plain'));
  copy(file('plain pristine'), file('encrypted pristine'));
  const rates: Rate[] = [];
  for (const [what, current] of [
    ['tasks encrypted in place', 'a'],
    ['tasks brought under a new key', 'b'],
  ] as const) {
    const perSecond = await rewritten(file('encrypted pristine'), { encryption: { keys, current } }, size);
    rates.push({ what, stored: size, perSecond });
  }
  copy(file('encrypted pristine'), file('encrypted'));
  const encrypted = await openStore(file('encrypted'), size, file('encrypted pristine'), {
    encryption: { keys, current: 'b' },
  });
  const plain = await openStore(file('plain'), size, file('plain pristine'));
  try {
    const comparisons: Comparison[] = [];
    for (const what of operations) {
      const sides = { holdfast: encrypted.sides[what], baseline: plain.sides[what] };
      comparisons.push({ what, stored: size, ...(await interleave(sides, turns[what])) });
    }
    return { comparisons, rates, targets: [] };
  } finally {
    await encrypted.close();
    await plain.close();
  }
}

async function rewritten(file: string, options: SqliteOptions, size: number): Promise<number> {
  const { rekey, close } = await openSqlite(file, options);
  const started = performance.now();
  await rekey();
  const seconds = (performance.now() - started) / 1_000;
  await close();
  return size / seconds;
}
