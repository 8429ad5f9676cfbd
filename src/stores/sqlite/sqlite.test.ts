import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import type { Place } from '../../testing/suite.ts';
import { testQueue } from '../../testing/test-queue.ts';
import { testStore } from '../../testing/test-store.ts';
import { openSqlite } from './open.ts';

async function file(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  return {
    open: (clock) => openSqlite(join(folder, 'tasks.db'), { clock }),
    remove: () => rm(folder, { recursive: true }),
  };
}

async function memory(): Promise<Place> {
  return { open: (clock) => openSqlite('memory:', { clock }), remove: async () => {} };
}

const notShared = 'a database in memory belongs to one connection';

describe('the store in a SQLite file', () => testStore({ test, place: file }));
describe('the store in memory', () => testStore({ test, place: memory, notShared }));
describe('the queue in a SQLite file', () => testQueue({ test, place: file }));
describe('the queue in memory', () => testQueue({ test, place: memory, notShared }));
