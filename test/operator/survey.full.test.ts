/** All implementations of queries pass the same tests: both databases, plain and encrypted, in a file and in memory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { openSqlite } from '../../src/sqlite.ts';
import type { Place } from '../../src/store-testing.ts';
import { testQueries } from '../../src/testing/stores/test-query.ts';
import { encryption } from '../encryption/keys.ts';
import { freshDatabase } from '../postgres/database.ts';
import { placeIn } from '../postgres/place.ts';

type Options = Parameters<typeof openSqlite>[1];

const file = (options: () => Options) => async (): Promise<Place> => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-survey-'));
  return {
    open: (clock) => openSqlite(join(folder, 'tasks.db'), { clock, ...options() }),
    remove: () => rm(folder, { recursive: true }),
  };
};

const memory = (options: Options) => async (): Promise<Place> => ({
  open: (clock) => openSqlite('memory:', { clock, ...options }),
  remove: async () => {},
});

const notShared = 'a database in memory belongs to one connection';
const encrypted = { encryption: encryption('first') };

/** Each opening uses another key. */
function rotating(): () => { readonly encryption: ReturnType<typeof encryption> } {
  const ids = ['first', 'second', 'third', 'fourth'];
  let opened = 0;
  return () => ({ encryption: { ...encryption(...ids), current: ids[Math.min(opened++, 3)]! } });
}

describe('queries of a SQLite file', () => testQueries({ test, place: file(() => ({})) }));
describe('queries of a file whose keys rotate', () =>
  testQueries({ test, place: async () => file(rotating())() }));
describe('queries in memory, encrypted', () => testQueries({ test, place: memory(encrypted), notShared }));

describe('on Postgres', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.remove());

  describe('queries', () => testQueries({ test, place: async () => placeIn(database.url) }));
  describe('queries while keys rotate', () =>
    testQueries({ test, place: async () => placeIn(database.url, rotating()) }));
});
