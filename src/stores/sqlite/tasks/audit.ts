/**
 * `said` is all that SQL need not find or compare. The triggers are there for mistakes, in this program and by hand: a
 * value may be encrypted, decrypted or put under another key, and nothing else may change; and entries go only if
 * they are from before the moment up to which the log was pruned.
 */
export const auditTables = `
  create table audit (
    seq integer primary key,
    at integer not null,
    action text not null,
    owner text,
    task text,
    said text not null
  );
  create index audit_by_at on audit (at);
  create index audit_by_task on audit (task) where task is not null;
  create index audit_by_owner on audit (owner) where owner is not null;
  create table audit_pruned (before integer not null);
  insert into audit_pruned (before) values (0);
  create trigger audit_is_append_only before update on audit
  when new.seq is not old.seq or new.at is not old.at or new.action is not old.action
    or new.owner is not old.owner or new.task is not old.task
    or (typeof(new.said) = 'text' and typeof(old.said) = 'text' and new.said is not old.said)
  begin
    select raise(abort, 'An entry of the audit log never changes.');
  end;
  create trigger audit_is_kept before delete on audit
  when old.at >= (select before from audit_pruned)
  begin
    select raise(abort, 'An entry of the audit log is kept until its retention is over.');
  end;
`;
