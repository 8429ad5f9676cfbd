/**
 * Which tasks have work, and who holds them. A task that is ready is found whatever the clock says, owner by owner; one
 * that sleeps is found by its timer. Part of a released migration: never to be changed.
 */
export const dispatchColumns = `
  alter table tasks add column ready integer;
  alter table tasks add column lease_ms integer;
  alter table tasks add column alone integer;
  update tasks set lease_ms = 15000 where holder is not null;
  drop index tasks_ready;
  create index tasks_in_turn on tasks (tool, tool_version, owner, wake_at) where ready is not null and holder is null;
  create index tasks_sleeping on tasks (tool, tool_version, wake_at)
    where ready is null and holder is null and wake_at is not null;
  create index if not exists tasks_held on tasks (holder) where holder is not null;
  create unique index tasks_alone on tasks (alone) where alone is not null;
`;
