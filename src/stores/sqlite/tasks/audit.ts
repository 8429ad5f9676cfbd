/**
 * The tables of the audit log. `at` is in milliseconds since 1970. `body` contains all fields that SQL does not search
 * or compare. The triggers prevent mistakes, in this program and by hand. An update may only encrypt, decrypt or
 * re-encrypt a body: plain text cannot be replaced by other plain text. Only entries from before the time in
 * `audit_pruned` may be deleted; pruning sets that time first.
 */
export const auditTables = `
  create table audit (
    seq integer primary key,
    at integer not null,
    action text not null,
    owner text,
    task text,
    body text not null
  );
  create index audit_by_at on audit (at);
  create index audit_by_task on audit (task) where task is not null;
  create index audit_by_owner on audit (owner) where owner is not null;
  create table audit_pruned (before integer not null);
  insert into audit_pruned (before) values (0);
  create trigger audit_is_append_only before update on audit
  when new.seq is not old.seq or new.at is not old.at or new.action is not old.action
    or new.owner is not old.owner or new.task is not old.task
    or (typeof(new.body) = 'text' and typeof(old.body) = 'text' and new.body is not old.body)
  begin
    select raise(abort, 'Audit entries cannot be changed.');
  end;
  create trigger audit_is_kept before delete on audit
  when old.at >= (select before from audit_pruned)
  begin
    select raise(abort, 'Audit entries cannot be deleted before their retention has passed.');
  end;
`;
