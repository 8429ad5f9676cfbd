/** What the role of a connection URL must be allowed to do. */
import { randomBytes } from 'node:crypto';
import { createTasks, durableTool } from 'holdfast';
import { openPostgres, postgres } from 'holdfast/postgres';
import { expect, onTestFinished, test } from 'vitest';
import { withCode } from '../kit/with-code.ts';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

/** A database, and the URL of a role that may create no schema in it. */
async function restrictedRole() {
  const { url, remove } = await freshDatabase();
  const role = `app_${randomBytes(6).toString('hex')}`;
  await query(url, `create role ${role} login password '${role}'`);
  onTestFinished(async () => {
    await query(url, `drop owned by ${role} cascade`);
    await query(url, `drop role ${role}`);
    await remove();
  });
  const roleUrl = new URL(url);
  roleUrl.username = roleUrl.password = role;
  return { url, role, roleUrl: roleUrl.href };
}

const echo = durableTool('echo', { task: 'always' }, async () => 'ok');

test('a role that owns the schema needs no right to create others', async () => {
  const { url, role, roleUrl } = await restrictedRole();
  await query(url, `create schema tasks authorization ${role}`);
  // Twice: the second finds everything as the first left it.
  for (let n = 0; n < 2; n++) {
    const tasks = createTasks({ store: postgres(roleUrl, { schema: 'tasks' }), tools: [echo] });
    await tasks.work();
    const { id } = await tasks.create(echo);
    expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
    await tasks.close();
  }
});

test('a role that neither owns the schema nor may create it is told what to do', async () => {
  const { roleUrl } = await restrictedRole();
  const opening = openPostgres(roleUrl);
  await expect(opening).rejects.toThrow(withCode('STORE_NOT_OPENED'));
  await expect(opening).rejects.toThrow('create schema holdfast authorization');
});
