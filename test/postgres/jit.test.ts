/** Postgres must not compile our statements: it takes a hundred times as long as to run them. */
import { createTasks, durableTool } from 'holdfast';
import { openPostgres } from 'holdfast/postgres';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from './database.ts';
import { query } from './server.ts';

const note = (what: string) => `insert into public.noted values ('${what}', current_setting('jit'))`;
const noting = (what: string) => `
  create function public.note_${what}() returns trigger language plpgsql as $$ begin ${note(what)}; return null; end $$`;

test('on every connection that writes, reads or claims, compilation is off, whatever the database says', async () => {
  const { url, remove } = await freshDatabase();
  onTestFinished(remove);
  await (await openPostgres(url)).close();
  const name = new URL(url).pathname.slice(1);
  await query(
    url,
    `alter database ${name} set jit = on; alter database ${name} set jit_above_cost = 0;
    create table public.noted (what text, jit text);
    ${noting('writes')};
    create trigger note after insert or update on holdfast.tasks execute function public.note_writes();
    create or replace function holdfast.leave_out(before double precision, max_passes integer)
      returns integer language plpgsql as $$ begin ${note('reads')}; return 0; end $$`,
  );
  const tool = durableTool('tool', { task: 'always' }, async (_, task) => {
    await task.sleep('1ms');
  });
  const tasks = createTasks({ store: () => openPostgres(url), tools: [tool] });
  onTestFinished(() => tasks.close());
  // Made before there is a worker, so that it is claimed.
  const { id } = await tasks.create(tool);
  await tasks.work();
  await tasks.outcome(id);
  await (await tasks.opened()).store.leaveOut(0, 1);
  await expect
    .poll(() => query(url, 'select distinct what, jit from public.noted order by what'))
    .toEqual([
      { what: 'reads', jit: 'off' },
      { what: 'writes', jit: 'off' },
    ]);
});
