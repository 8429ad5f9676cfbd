/**
 * What a task leaves in `commits`. `tasks.journals` counts the commits that hold a part of the journal. A commit with
 * `idle` ends a pass that did nothing; after a while it is left out with the claim before it, and the commit after them
 * has in `left_out` how many versions are missing before it.
 */

/** Part of the schema. One process at a time leaves passes out, so that none counts into a row that another takes away. */
export const historyFunctions = `
  create function leave_out(before double precision, most integer) returns integer language plpgsql as $$
  declare
    pass record;
    gone integer;
    passes integer := 0;
  begin
    if not pg_try_advisory_xact_lock(hashtextextended('holdfast leave out SCHEMA', 0)) then return 0; end if;
    for pass in select task, version from SCHEMA.commits where idle and at < before order by at limit most loop
      passes := passes + 1;
      select sum(1 + coalesce(c.left_out, 0)) into gone
        from SCHEMA.commits c where c.task = pass.task and c.version between pass.version - 1 and pass.version;
      update SCHEMA.commits c set left_out = coalesce(c.left_out, 0) + gone
        where c.task = pass.task and c.version = (
          select min(n.version) from SCHEMA.commits n where n.task = pass.task and n.version > pass.version);
      -- The last commit of a task stays: nothing comes after it that could say that it is missing.
      if not found then
        update SCHEMA.commits c set idle = null where c.task = pass.task and c.version = pass.version;
      else
        delete from SCHEMA.commits c
          where c.task = pass.task and c.version between pass.version - 1 and pass.version;
      end if;
    end loop;
    return passes;
  end $$;
`;
