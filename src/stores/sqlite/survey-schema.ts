/**
 * What surveys need beyond what commands do. No index is touched more often than before while a task lives: that of live
 * tasks names the standing, and the others hold what has ended. Part of a released migration: never to be changed.
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
  create index tasks_of_unknown_standing on tasks (seq) where standing = 0
    or (standing < 4 and ended_at is not null)
    or (standing = 8 and parent_id is null and unpublished is null);
`;
