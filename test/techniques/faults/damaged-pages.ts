/** Overwrites one page of a closed database after the other and looks at what a caller is then told. */
import { copyFileSync, statSync } from 'node:fs';
import { StoreError } from '../../../src/ports/store-errors.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import type { Random } from '../../kit/random.ts';
import { orDamage, pageSize, readPage, writePage } from './files.ts';
import { type Answers, askEverything, idsIn, mistakesIn, type PageUse, pagesOf } from './population.ts';

export type Kind = 'zeros' | 'random bytes' | 'another page of its part' | 'any other page';

export interface Tally {
  refused: number;
  /** It was opened, and whoever asked for what is damaged was told. */
  reported: number;
  /** Everything was there after all: the page was free, or what it held is never asked for. */
  unharmed: number;
  /** Something was not found, without a word. */
  readonly hidden: string[];
  /** Something else was answered, without a word. */
  readonly wrong: string[];
}

interface Damage {
  readonly kind: Kind;
  /** How many pages of each part are overwritten, one after the other. */
  readonly perPart: number;
  readonly parts?: (part: string) => boolean;
}

export async function damagePages(
  file: string,
  random: Random,
  { kind, perPart, parts = () => true }: Damage,
): Promise<Tally> {
  const ids = idsIn(file);
  const { store } = await openSqlite(file);
  const right = await askEverything(store, ids);
  await store.close();

  const pages = pagesOf(file);
  const damaged = `${file}.damaged`;
  copyFileSync(file, damaged);
  const tally: Tally = { refused: 0, reported: 0, unharmed: 0, hidden: [], wrong: [] };
  for (const [name, part] of Map.groupBy(pages, ({ part }) => part)) {
    if (!parts(name)) continue;
    for (let n = 0; n < perPart; n++) {
      const { page } = random.oneOf(part);
      const others = (kind === 'any other page' ? pages : part).filter((other) => other.page !== page);
      if (kind.includes('page') && others.length === 0) continue;
      const instead = replacement(kind, file, random, others);
      writePage(damaged, page, instead.bytes);
      const asWritten = statSync(damaged).mtimeMs;
      const answers = await answersFrom(damaged, ids);
      // What is done in the background may have written, and written elsewhere what it took from that page.
      if (statSync(damaged).mtimeMs === asWritten) writePage(damaged, page, readPage(file, page));
      else copyFileSync(file, damaged);
      count(tally, right, answers, `page ${page} (${name}): ${instead.name}`);
    }
  }
  // Otherwise one damage would have been counted many times.
  if ((await answersFrom(damaged, ids)) instanceof StoreError) throw new Error('A damage was left behind.');
  return tally;
}

function replacement(kind: Kind, file: string, random: Random, others: readonly PageUse[]) {
  if (kind === 'zeros') return { name: kind, bytes: Buffer.alloc(pageSize) };
  if (kind === 'random bytes')
    return { name: kind, bytes: Buffer.from(Array.from({ length: pageSize }, () => random.between(0, 255))) };
  const { page, part } = random.oneOf(others);
  return { name: `page ${page} (${part})`, bytes: readPage(file, page) };
}

async function answersFrom(file: string, ids: readonly string[]): Promise<Answers | StoreError> {
  const database = await orDamage(openSqlite(file));
  if (database instanceof StoreError) return database;
  const answers = await askEverything(database.store, ids);
  await database.close();
  return answers;
}

function count(tally: Tally, right: Answers, answers: Answers | StoreError, damage: string): void {
  if (answers instanceof StoreError) return void tally.refused++;
  const { hidden, wrong } = mistakesIn(answers, right);
  if (wrong.length > 0) tally.wrong.push(`${damage}: ${wrong.slice(0, 3).join(', ')}`);
  else if (hidden.length > 0) tally.hidden.push(`${damage}: ${hidden.slice(0, 3).join(', ')}`);
  else if ([...answers.values()].includes(undefined)) tally.reported++;
  else tally.unharmed++;
}
