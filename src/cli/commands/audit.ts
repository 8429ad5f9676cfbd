/** `holdfast audit`: who did what to which task, from the audit log of a store. */

import { AuditLog } from '../../engine/database/audit-log.ts';
import { pagesOf } from '../../model/paging.ts';
import { type AuditEntry, type AuditQuery, auditActions } from '../../ports/audit.ts';
import { escaped } from '../output.ts';
import { storePlace, storeWithTasks } from '../store-url.ts';
import { momentFrom } from '../time.ts';
import { oneOf, readArguments, WrongUsage } from '../usage.ts';
import { oneLine, tableLine, width } from '../views/terminal-text.ts';

const usualStore = 'sqlite:.holdfast/demo.db';

const help = `Who did what to which task: the audit log of a store, the oldest entries first.

Usage: holdfast audit [--store URL] [--task ID] [--owner OWNER] [--action ACTION] [--since WHEN] [--json]

A log is kept by servers with createTasks({ audit: true }). Sessions are told apart by a hash of their ids.

  --store URL      sqlite:PATH or postgres://... (default ${usualStore}, the store of a demo in this folder)
  --task ID        entries about one task, or about who asked for it in vain
  --owner OWNER    entries of one owner
  --action ACTION  ${auditActions.slice(0, 6).join(', ')},
                   ${auditActions.slice(6).join(', ')}
  --since WHEN     a moment (2026-07-28, 2026-07-28T12:00:00Z), or how long ago (30m, 12h, 7d)
  --json           one entry per line as JSON
  -h, --help       say this`;

export async function audit(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, help, {
    store: { type: 'string' },
    task: { type: 'string' },
    owner: { type: 'string' },
    action: { type: 'string' },
    since: { type: 'string' },
    json: { type: 'boolean' },
  });
  if (positionals.length > 0) throw new WrongUsage(`audit takes no "${positionals[0]}"`);
  const { action } = values;
  const query: AuditQuery = {
    ...(values.task !== undefined && { taskId: values.task }),
    ...(values.owner !== undefined && { owner: values.owner }),
    ...(action !== undefined && { action: oneOf(auditActions, action, `there is no action "${action}"`) }),
    ...(values.since !== undefined && { since: momentFrom(values.since) }),
  };
  const open = await storeWithTasks(storePlace(values.store ?? usualStore));
  const database = await open();
  try {
    const log = new AuditLog(async () => database.audit);
    if (values.json) for await (const line of log.export(query)) process.stdout.write(escaped(line));
    else await printTable(log, query);
    return 0;
  } finally {
    await database.close();
  }
}

const heads = ['TIME', 'ACTION', 'BY', 'OWNER', 'TASK', 'TOOL', 'MORE'];

/** Page by page, so that a long log need not be held; columns that must grow are wider from there on. */
async function printTable(log: AuditLog, query: AuditQuery): Promise<void> {
  const widths = heads.map(() => 0);
  let isEmpty = true;
  for await (const { entries } of pagesOf((from) => log.read({ ...query, ...from }))) {
    const rows = entries.map(cellsOf);
    if (isEmpty && rows.length > 0) {
      isEmpty = false;
      rows.unshift(heads);
    }
    for (const row of rows)
      for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column]!, width(cell));
    for (const row of rows) console.log(tableLine(row, widths));
  }
  if (isEmpty) console.error('The log has no such entries.');
}

function cellsOf({ at, action, by, owner, taskId, tool, ...said }: AuditEntry): string[] {
  const { reason, times, dialect, session } = said;
  const details = said.details && JSON.stringify(said.details);
  const more = [reason, times && `${times} times`, details, dialect, session && `session ${session}`];
  const cells = [new Date(at).toISOString(), action, by, owner ?? '-', taskId ?? '-', tool ?? '-'];
  return [...cells, more.filter(Boolean).join(' · ')].map(oneLine);
}
