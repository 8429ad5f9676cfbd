/** Every examination of the ports through PgBouncer, with a direct URL for liveness and without one. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { testCalls, testSessions } from '../../src/testing/stores/test-ports.ts';
import { testQueue } from '../../src/testing/stores/test-queue.ts';
import { testStore } from '../../src/testing/stores/test-store.ts';
import { bouncerMissing, bouncerProgram, startBouncer } from './bouncer.ts';
import { freshDatabase } from './database.ts';
import { placeIn } from './place.ts';

if (!bouncerProgram) console.warn(`${bouncerMissing}: the tests of poolers are skipped.`);

let database: Awaited<ReturnType<typeof freshDatabase>>;
let bouncer: Awaited<ReturnType<typeof startBouncer>>;
beforeAll(async () => {
  database = await freshDatabase();
  if (bouncerProgram) bouncer = await startBouncer(database.url);
});
afterAll(async () => {
  await bouncer?.stop();
  await database.remove();
});

describe.skipIf(!bouncerProgram).each([
  ['with a direct URL', () => ({ directUrl: database.url })],
  ['without a direct URL', () => ({})],
])('through PgBouncer, %s', (_, options) => {
  const place = async () => placeIn(database.url, options, bouncer.url);
  describe('the store', () => testStore({ test, place }));
  describe('the queue', () => testQueue({ test, place }));
  describe('the sessions', () => testSessions({ test, place }));
  describe('the plain calls', () => testCalls({ test, place }));
});
