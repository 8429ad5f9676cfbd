/** The audit log as these tests read it. */
import type { AuditEntry, AuditQuery, Tasks } from 'holdfast';

/** All that is in it, what is still being gathered included. */
export async function logOf(tasks: Tasks, query: AuditQuery = {}): Promise<AuditEntry[]> {
  await tasks.recorder?.flush();
  const entries: AuditEntry[] = [];
  for await (const line of tasks.audit.export(query)) entries.push(JSON.parse(line));
  return entries;
}

/** What happened, and on whose behalf, in its order. */
export function story(entries: readonly AuditEntry[]): string[] {
  return entries.map(({ action, by }) => `${action} by ${by}`);
}
