/**
 * SQL of the first migration. `body` contains all fields that SQL does not search or compare. The triggers prevent
 * mistakes, in this program and by hand: a body may be encrypted, decrypted or re-encrypted, and nothing else may
 * change. The prefix that marks encrypted bodies is `sealedMark`. Only entries older than `audit_pruned.before` may be
 * deleted.
 */
export const auditTables = `
  create table audit (
    seq bigint generated always as identity primary key,
    at double precision not null,
    action text not null collate "C",
    owner text collate "C",
    task text collate "C",
    body text not null
  );
  create index audit_by_at on audit (at);
  create index audit_by_task on audit (task, seq) where task is not null;
  create index audit_by_owner on audit (owner, seq) where owner is not null;
  create table audit_pruned (before double precision not null);
  insert into audit_pruned (before) values ('-infinity');
  create function audit_is_append_only() returns trigger language plpgsql as $$
  begin
    if (new.seq, new.at, new.action, new.owner, new.task)
        is distinct from (old.seq, old.at, old.action, old.owner, old.task)
      or (new.body <> old.body and not starts_with(new.body, '\\~') and not starts_with(old.body, '\\~'))
    then raise exception 'Audit entries cannot be changed.';
    end if;
    return new;
  end $$;
  create trigger audit_is_append_only before update on audit
    for each row execute function audit_is_append_only();
  create function audit_is_kept() returns trigger language plpgsql as $$
  begin
    if tg_op = 'DELETE' then
      if old.at < (select before from SCHEMA.audit_pruned) then return old; end if;
    end if;
    raise exception 'Audit entries cannot be deleted before their retention has passed.';
  end $$;
  create trigger audit_is_kept before delete on audit for each row execute function audit_is_kept();
  create trigger audit_is_not_emptied before truncate on audit execute function audit_is_kept();
`;

/** A statement that inserts entries. `rows` is an SQL expression: a JSON array of `AuditRow`. */
export function insertEntries(schema: string, rows: string): string {
  return `
    insert into ${schema}.audit (at, action, owner, task, body)
    select at, action, owner, task, body from json_to_recordset(${rows})
      as v (at double precision, action text, owner text, task text, body text)`;
}
