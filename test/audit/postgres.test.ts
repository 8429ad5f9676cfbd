/** The log on Postgres: nothing changes it by mistake, and with encryption only who, what and when can be read. */
import type { AuditEntry } from 'holdfast';
import { openPostgres } from 'holdfast/postgres';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { encryption } from '../encryption/keys.ts';
import { withCode } from '../kit/with-code.ts';
import { freshDatabase } from '../postgres/database.ts';
import { query } from '../postgres/server.ts';

const entry: AuditEntry = {
  at: 1_000,
  action: 'denied',
  owner: 'ada',
  taskId: 'a',
  by: 'caller',
  session: '0123456789abcdef',
  reason: 'Because of xyzzy.',
  details: { secret: 'xyzzy' },
};

let url: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  ({ url, remove } = await freshDatabase());
});
afterAll(() => remove());

async function written(schema: string, keys?: ReturnType<typeof encryption>): Promise<void> {
  const database = await openPostgres(url, { schema, connections: 5, ...(keys && { encryption: keys }) });
  await database.audit.append([entry, { ...entry, taskId: 'b' }]);
  await database.close();
}

test('no statement changes, deletes or empties what is not pruned', async () => {
  await written('kept');
  for (const change of ["owner = 'bob'", 'at = 0', "action = 'created'", "task = 'c'", "body = '{}'"])
    await expect(query(url, `update kept.audit set ${change}`), change).rejects.toThrow(
      'Audit entries cannot be changed.',
    );
  for (const removal of ['delete from kept.audit', 'truncate kept.audit'])
    await expect(query(url, removal), removal).rejects.toThrow(
      'cannot be deleted before their retention has passed',
    );
  expect(await query(url, 'select owner, task from kept.audit order by seq')).toEqual([
    { owner: 'ada', task: 'a' },
    { owner: 'ada', task: 'b' },
  ]);
});

test('a log that is encrypted later, or under another key, stays, and says no more than who, what and when', async () => {
  await written('later');
  for (const keys of [encryption('first'), encryption('first', 'second')]) {
    const database = await openPostgres(url, { schema: 'later', connections: 5, encryption: keys });
    await database.rekey();
    expect((await database.audit.read({ limit: 10 })).entries).toEqual([entry, { ...entry, taskId: 'b' }]);
    await database.close();
    const rows = JSON.stringify(await query(url, 'select * from later.audit'));
    expect(rows).not.toContain('xyzzy');
    expect(rows).not.toContain(entry.session);
    expect(rows).toContain('denied');
  }
});

test('what was said of one entry cannot be put beside another', async () => {
  await written('moved', encryption('first'));
  await query(
    url,
    'update moved.audit set body = (select body from moved.audit order by seq desc limit 1) where seq = 1',
  );
  const database = await openPostgres(url, {
    schema: 'moved',
    connections: 5,
    encryption: encryption('first'),
  });
  onTestFinished(() => database.close());
  await expect(database.audit.read({ limit: 10 })).rejects.toThrow(withCode('STORE_CORRUPT'));
});
