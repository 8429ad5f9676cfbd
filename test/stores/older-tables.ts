/** Takes the tables of a store back to what they were before work was handed out by turns, on either database. */
export const beforeTurns = `
  drop index tasks_to_join; drop index tasks_by_request; alter table tasks drop column join_key; alter table tasks drop column answering;
  drop index tasks_asking; drop index commits_with_journal; drop index commits_idle;
  alter table tasks drop column journals; alter table commits drop column idle; alter table commits drop column left_out;
  drop index if exists tasks_in_turn; drop index if exists tasks_ready; drop index tasks_sleeping; drop index tasks_alone;
  alter table tasks drop column ready; alter table tasks drop column lease_ms; alter table tasks drop column alone;
  create index tasks_ready on tasks (tool, tool_version, wake_at) where wake_at is not null and holder is null;`;
