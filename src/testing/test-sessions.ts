/** The examination that the `Sessions` of every database take. */
import assert from 'node:assert/strict';
import type { SessionRecord } from '../engine/sessions.ts';
import { checks, type SuiteOptions } from './suite.ts';

const session: SessionRecord = {
  id: 'a',
  owner: 'alice',
  opening: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } },
  seenAt: 1_000,
};

export function testSessions(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('a session that was saved can be read back as it was', async ({ database: { sessions } }) => {
    await sessions.save(session);
    assert.deepEqual(await sessions.get('a'), session);
    assert.equal(await sessions.get('b'), undefined);
  });

  check(
    'saved again it is as it was saved last, and belongs to whom it belonged',
    async ({ database: { sessions } }) => {
      await sessions.save(session);
      const later = { ...session, opening: { ...session.opening, level: 'error' }, seenAt: 2_000 };
      await sessions.save({ ...later, owner: 'mallory' });
      assert.deepEqual(await sessions.get('a'), later);
    },
  );

  check('a session that was deleted is gone', async ({ database: { sessions } }) => {
    await sessions.save(session);
    await sessions.delete('a');
    await sessions.delete('never was');
    assert.equal(await sessions.get('a'), undefined);
  });

  check('sessions that were not seen for long are forgotten', async ({ database: { sessions } }) => {
    await sessions.save(session);
    await sessions.save({ ...session, id: 'b', seenAt: 2_000 });
    await sessions.forget(2_000);
    assert.equal(await sessions.get('a'), undefined);
    assert.equal((await sessions.get('b'))?.id, 'b');
  });

  checkShared('every process knows every session, also when its own is gone', async ({ database, again }) => {
    await database.sessions.save(session);
    await database.close();
    assert.deepEqual(await (await again()).sessions.get('a'), session);
  });
}
