/** Every port of the store takes the same examination encrypted as plain, and while a file is being rewritten. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { openSqlite } from '../../src/sqlite.ts';
import type { Place } from '../../src/store-testing.ts';
import { testAudit, testCalls, testSecrets, testSessions } from '../../src/testing/stores/test-ports.ts';
import { testQueue } from '../../src/testing/stores/test-queue.ts';
import { testStore } from '../../src/testing/stores/test-store.ts';
import { freshDatabase } from '../postgres/database.ts';
import { placeIn } from '../postgres/place.ts';
import { encryption } from './keys.ts';

async function encrypted(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-encryption-'));
  return {
    open: (clock) => openSqlite(join(folder, 'tasks.db'), { clock, encryption: encryption('first') }),
    remove: () => rm(folder, { recursive: true }),
  };
}

function keysAt(opening: number) {
  const ids = ['first', 'second', 'third', 'fourth'];
  return { ...encryption(...ids), current: ids[Math.min(opening, ids.length - 1)]! };
}

/** Every opening begins another key, so that who opened before must look anew with every command. */
async function rotating(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-encryption-'));
  let opened = 0;
  return {
    open: (clock) => openSqlite(join(folder, 'tasks.db'), { clock, encryption: keysAt(opened++) }),
    remove: () => rm(folder, { recursive: true }),
  };
}

async function inMemory(): Promise<Place> {
  return {
    open: (clock) => openSqlite('memory:', { clock, encryption: encryption('first') }),
    remove: async () => {},
  };
}

const notShared = 'a database in memory belongs to one connection';

describe('the store, encrypted', () => testStore({ test, place: encrypted }));
describe('the store while its keys rotate', () => testStore({ test, place: rotating }));
describe('the store in memory, encrypted', () => testStore({ test, place: inMemory, notShared }));
describe('the queue, encrypted', () => testQueue({ test, place: encrypted }));
describe('the queue while its keys rotate', () => testQueue({ test, place: rotating }));
describe('the secrets, encrypted', () => testSecrets({ test, place: encrypted }));
describe('the secrets while their keys rotate', () => testSecrets({ test, place: rotating }));
describe('the audit log, encrypted', () => testAudit({ test, place: encrypted }));
describe('the audit log while its keys rotate', () => testAudit({ test, place: rotating }));
describe('the audit log in memory, encrypted', () => testAudit({ test, place: inMemory, notShared }));
describe('the plain calls, encrypted', () => testCalls({ test, place: encrypted }));
describe('the sessions, encrypted', () => testSessions({ test, place: encrypted }));

describe('on Postgres', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.remove());

  const encrypted = async () => placeIn(database.url, () => ({ encryption: encryption('first') }));
  const rotating = async () => {
    let opened = 0;
    return placeIn(database.url, () => ({ encryption: keysAt(opened++) }));
  };
  describe('the store, encrypted', () => testStore({ test, place: encrypted }));
  describe('the store while its keys rotate', () => testStore({ test, place: rotating }));
  describe('the queue, encrypted', () => testQueue({ test, place: encrypted }));
  describe('the secrets while their keys rotate', () => testSecrets({ test, place: rotating }));
  describe('the audit log while its keys rotate', () => testAudit({ test, place: rotating }));
  describe('the sessions, encrypted', () => testSessions({ test, place: encrypted }));
});
