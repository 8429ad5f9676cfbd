/** The audit log as these tests read it. */
import type { AuditEntry, AuditQuery, Tasks } from 'holdfast';

/** All that is in it, what is still being gathered included. */
export async function logOf(tasks: Tasks, query: AuditQuery = {}): Promise<AuditEntry[]> {
  await tasks.recorder?.flush();
  return (await Array.fromAsync(tasks.audit.export(query))).map((line) => JSON.parse(line));
}

export function story(entries: readonly AuditEntry[]): string[] {
  return entries.map(({ action, by }) => `${action} by ${by}`);
}
