/** `holdfast audit`: prints the audit log of a store. */

import { AuditLog } from '../../engine/database/audit-log.ts';
import { pagesOf } from '../../model/paging.ts';
import { type AuditEntry, type AuditQuery, auditActions } from '../../ports/audit.ts';
import { escaped } from '../output.ts';
import { parseStoreUrl, storeWithTasks } from '../store-url.ts';
import { momentFrom } from '../time.ts';
import { oneOf, readArguments, WrongUsage } from '../usage.ts';
import { oneLine, tableLine, width } from '../views/terminal-text.ts';

const defaultStore = 'sqlite:.holdfast/demo.db';

const help = `Prints the audit log of a store: who did what to which task, the oldest entries first.

Usage: holdfast audit [--store URL] [--task ID] [--owner OWNER] [--action ACTION] [--since WHEN] [--json]

Servers with createTasks({ audit: true }) write the log. Sessions are shown as hashes of their ids.

  --store URL      sqlite:PATH or postgres://... (default ${defaultStore}, the store of the demo in this folder)
  --task ID        entries about one task, including denied requests for it
  --owner OWNER    entries of one owner
  --action ACTION  ${auditActions.slice(0, 6).join(', ')},
                   ${auditActions.slice(6).join(', ')}
  --since WHEN     a time (2026-07-28, 2026-07-28T12:00:00Z), or a duration before now (30m, 12h, 7d)
  --json           print one JSON object per line
  -h, --help       show this help`;

export async function audit(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, help, {
    store: { type: 'string' },
    task: { type: 'string' },
    owner: { type: 'string' },
    action: { type: 'string' },
    since: { type: 'string' },
    json: { type: 'boolean' },
  });
  if (positionals.length > 0) throw new WrongUsage(`unexpected argument "${positionals[0]}" for audit`);
  const { action } = values;
  const query: AuditQuery = {
    ...(values.task !== undefined && { taskId: values.task }),
    ...(values.owner !== undefined && { owner: values.owner }),
    ...(action !== undefined && { action: oneOf(auditActions, action, `unknown action "${action}"`) }),
    ...(values.since !== undefined && { since: momentFrom(values.since) }),
  };
  const open = await storeWithTasks(parseStoreUrl(values.store ?? defaultStore));
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

const heads = ['TIME', 'ACTION', 'BY', 'OWNER', 'TASK', 'TOOL', 'DETAILS'];

/** Prints page by page to limit memory. A page with longer values widens the columns from there on. */
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
  if (isEmpty) console.error('No matching entries.');
}

function cellsOf({ at, action, by, owner, taskId, tool, ...rest }: AuditEntry): string[] {
  const { reason, times, dialect, session } = rest;
  const details = rest.details && JSON.stringify(rest.details);
  const more = [reason, times && `${times} times`, details, dialect, session && `session ${session}`];
  const cells = [new Date(at).toISOString(), action, by, owner ?? '-', taskId ?? '-', tool ?? '-'];
  return [...cells, more.filter(Boolean).join(' · ')].map(oneLine);
}
