import { expect, test } from 'vitest';
import { withCommands } from '../../src/engine/database/decorator.ts';
import { StoreHealth } from '../../src/engine/database/health.ts';
import * as rules from '../../src/engine/rules/transitions.ts';
import { unobserved } from '../../src/ports/observer.ts';
import { StoreError } from '../../src/ports/store-errors.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { openSqlite } from '../../src/stores/sqlite/open.ts';
import { aTask } from '../../src/testing/fixtures.ts';
import { withCode } from '../kit/with-code.ts';

test('a store that failed is usable again after a write, and not after a claim that found nothing', async () => {
  const database = await openSqlite('memory:');
  const { store } = database;
  let isFull = true;
  const health = new StoreHealth(systemClock, unobserved);
  const watched = health.watch(
    withCommands(database, {
      create: async (bearing, decide) => {
        if (isFull) throw new StoreError('STORE_FULL', 'The disk', 'it is full', 'Free some space.');
        return store.create(bearing, decide);
      },
    }),
  );
  const request = aTask();
  const create = () => watched.store.create(undefined, () => rules.create(undefined, request, 0));
  const tools = [{ tool: request.tool, version: request.toolVersion }];
  const none = { tools, limit: 1, running: new Set<string>(), except: new Set<string>() };

  await expect(create()).rejects.toThrow(withCode('STORE_FULL'));
  await watched.store.claim(none, () => new Error() as never);
  await watched.secrets.get('states');
  expect(health.failure).toMatchObject({ code: 'STORE_FULL' });

  isFull = false;
  await create();
  expect(health.failure).toBeUndefined();
  await watched.close();
});
