/**
 * What operators' queries need beyond what commands do. A commit of a live task touches only the index of live tasks,
 * which quotas need too; the others get their entry when a root ends. Part of a migration.
 */
export const surveyColumns = `
  alter table tasks add column standing integer not null default 0;
  alter table tasks add column created_at integer;
  drop index tasks_live;
  create index tasks_live on tasks (owner, standing, tool) where parent_id is null and purge_at is null;
  drop index tasks_by_end;
  create index tasks_by_end on tasks (ended_at, owner, tool, standing, created_at) where ended_at is not null;
  create index tasks_ended_by_tool on tasks (tool) where ended_at is not null;
  create index tasks_ended_badly on tasks (standing) where standing > 4 and ended_at is not null;
`;
