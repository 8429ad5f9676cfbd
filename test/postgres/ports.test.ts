import { afterAll, beforeAll, describe, test } from 'vitest';
import { testAudit, testCalls, testSecrets, testSessions } from '../../src/testing/stores/test-ports.ts';
import { testQueue } from '../../src/testing/stores/test-queue.ts';
import { testStore } from '../../src/testing/stores/test-store.ts';
import { freshDatabase } from './database.ts';
import { placeIn } from './place.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.remove());

const place = async () => placeIn(database.url);

describe('the store on Postgres', () => testStore({ test, place }));
describe('the queue on Postgres', () => testQueue({ test, place }));
describe('the secrets on Postgres', () => testSecrets({ test, place }));
describe('the sessions on Postgres', () => testSessions({ test, place }));
describe('the plain calls on Postgres', () => testCalls({ test, place }));
describe('the audit log on Postgres', () => testAudit({ test, place }));
