/**
 * Which tasks have work, and who holds them. A task that is ready is found whatever the clock says; one that sleeps is
 * found by its timer. Leases are stamped and judged by the clock of the server. Part of a released migration: never to
 * be changed.
 */
export const dispatchColumns = `
  alter table tasks add column ready boolean not null default false;
  alter table tasks add column lease_ms double precision;
  alter table tasks add column alone boolean;
  update tasks set lease_ms = 10000 where holder is not null;
  drop index tasks_ready;
  create index tasks_ready on tasks (tool, tool_version, wake_at, seq) where ready and holder is null;
  create index tasks_sleeping on tasks (tool, tool_version, wake_at, seq)
    where not ready and wake_at is not null and holder is null;
  create unique index tasks_alone on tasks (alone) where alone;
`;

/** The moment in milliseconds, by the server's clock. */
export const serverNow = '(extract(epoch from clock_timestamp()) * 1000)::double precision';
