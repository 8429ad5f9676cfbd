import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { seededRandom, seedOfThisRun } from '../../kit/random.ts';
import { damagePages, type Kind } from './damaged-pages.ts';
import { populate } from './population.ts';

/*
 * One page of a database that was closed in good order is overwritten. A small file is checked whole when it is
 * opened; in a larger one damage shows where it is read.
 *
 * What nobody can see, because pages carry no checksums: in the middle of a long value, the middle of another one;
 * and in a file that is not checked whole, that an index lacks entries after one of its pages was replaced by
 * another page of its kind. Then a task may not be found, but never is a wrong one shown.
 */

const perPart = process.env.HOLDFAST_LANE === 'long' ? 25 : 1;
const seed = seedOfThisRun();

const kinds: readonly Kind[] = ['zeros', 'random bytes', 'another page of its part', 'any other page'];

const folder = temporaryFolder();
const small = join(folder, 'small', 'tasks.db');
const large = join(folder, 'large', 'tasks.db');
beforeAll(async () => {
  await populate(small, { tasks: 1_500, seed, long: 2 });
  await populate(large, { tasks: 900, seed, long: 75 });
});

describe.each(kinds)('a page overwritten with %s', (kind) => {
  const isPage = kind.includes('page');
  const isIndex = (part: string) => /^(tasks_|commits_|sqlite_autoindex)/.test(part);
  const isLongValue = (part: string) => part.endsWith('overflow');

  test('in a file that is checked when it is opened never leads to a wrong answer', async () => {
    expect(statSync(small).size).toBeLessThan(16 * 2 ** 20);
    const tally = await damagePages(small, seededRandom(seed), {
      kind,
      perPart,
      parts: (part) => !(isPage && isLongValue(part)),
    });
    expect(tally).toMatchObject({ hidden: [], wrong: [] });
    expect(tally.refused).toBeGreaterThan(2);
  });

  test('in a file too large for that never leads to a wrong answer', async () => {
    expect(statSync(large).size).toBeGreaterThan(16 * 2 ** 20);
    const tally = await damagePages(large, seededRandom(seed), {
      kind,
      perPart: isPage ? 2 * perPart : perPart,
      parts: (part) => !(isPage && (isIndex(part) || isLongValue(part))),
    });
    expect(tally).toMatchObject({ hidden: [], wrong: [] });
    expect(tally.refused + tally.reported).toBeGreaterThan(2);
  });

  if (isPage)
    test('in an index of a large file may hide tasks, and never shows the wrong ones', async () => {
      const tally = await damagePages(large, seededRandom(seed), { kind, perPart, parts: isIndex });
      expect(tally.wrong).toEqual([]);
      expect(tally.refused + tally.reported).toBeGreaterThan(0);
    });
});
