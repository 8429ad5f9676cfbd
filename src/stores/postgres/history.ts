/**
 * What a task leaves in `commits`. `tasks.journals` counts the commits that hold a part of the journal, which is read
 * without the others. A commit with `idle` ends a pass that did nothing; after a while it is left out with the claim
 * before it, and the commit after them says in `left_out` how many versions are missing before it.
 */
import { addToSize } from './sizes.ts';

/** Part of a migration. One process at a time leaves passes out, so that none counts into a row that another takes away. */
export const historyTables = `
  create index commits_with_journal on commits (task, version) where journal is not null;
  alter table commits add column idle boolean;
  alter table commits add column left_out integer not null default 0;
  create index commits_idle on commits (at) where idle;
  alter table tasks add column journals integer not null default 0;
  update tasks set journals =
    (select count(*) from commits where commits.task = tasks.seq and commits.journal is not null);
  create index tasks_asking on tasks (root_id) where waiting and root_id is not null;
  create or replace function leave_out(before double precision, most integer, counter text) returns integer language plpgsql as $$
  declare
    pass record;
    gone integer;
    freed bigint;
    passes integer := 0;
    total bigint := 0;
  begin
    if not pg_try_advisory_xact_lock(hashtextextended('holdfast leave out SCHEMA', 0)) then return 0; end if;
    for pass in select task, version from SCHEMA.commits where idle and at < before order by at limit most loop
      passes := passes + 1;
      select sum(1 + c.left_out), sum(octet_length(c.events) + 140) into gone, freed
        from SCHEMA.commits c where c.task = pass.task and c.version between pass.version - 1 and pass.version;
      update SCHEMA.commits c set left_out = c.left_out + gone where c.seq = (
        select n.seq from SCHEMA.commits n where n.task = pass.task and n.version > pass.version
        order by n.version limit 1);
      -- The last commit of a task stays: nothing comes after it that could say that it is missing.
      if not found then
        update SCHEMA.commits c set idle = null where c.task = pass.task and c.version = pass.version;
      else
        delete from SCHEMA.commits c
          where c.task = pass.task and c.version between pass.version - 1 and pass.version;
        total := total + freed;
      end if;
    end loop;
    if total > 0 then insert into SCHEMA.sizes (writer, bytes) values (counter, -total) ${addToSize}; end if;
    return passes;
  end $$;
`;
