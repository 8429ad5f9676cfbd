/** The audit log as these tests read it. */
import type { AuditEntry, AuditQuery, Tasks } from 'holdfast';
import { all } from '../kit/all.ts';

/** All that is in it, what is still being gathered included. */
export async function logOf(tasks: Tasks, query: AuditQuery = {}): Promise<AuditEntry[]> {
  await tasks.recorder?.flush();
  return (await all(tasks.audit.export(query))).map((line) => JSON.parse(line));
}

/** What happened, and on whose behalf, in its order. */
export function story(entries: readonly AuditEntry[]): string[] {
  return entries.map(({ action, by }) => `${action} by ${by}`);
}
