import { describe } from 'vitest';
import { freshDatabase } from '../postgres/database.ts';
import { faces } from './faces.ts';
import { examineOwners } from './matrix.ts';

const all = Object.keys(faces);
/** What can differ from store to store is below every dialect: one with links, one with sessions, one with names. */
const some = ['2026-07-28 with subtasks', 'all drafts', 'SEP-1686'];

describe('on SQLite', () => examineOwners(async () => 'memory:', all));

describe('on Postgres', () => {
  const onPostgres = async () => (await freshDatabase()).url;
  examineOwners(onPostgres, process.env.HOLDFAST_LANE === 'long' ? all : some);
});
