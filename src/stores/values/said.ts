/** Entries of the audit log as rows: what SQL must find or compare has columns of its own, the rest is `said`. */
import type { AuditAction, AuditEntry, AuditQuery } from '../../engine/audit.ts';
import type { Cells } from './cells.ts';

export const saidColumn = 'audit.said';

export interface SaidRow<Text> {
  readonly at: number;
  readonly action: AuditAction;
  readonly owner: string | null;
  readonly task: string | null;
  readonly said: Text;
}

/** What an encrypted value is bound to: beside another owner's name it can no longer be read. */
export function placeOfSaid({ at, action, owner, task }: Omit<SaidRow<unknown>, 'said'>): string {
  return JSON.stringify([at, action, owner, task]);
}

export function saidOf<Text>(entry: AuditEntry, cells: Cells<Text>): SaidRow<Text> {
  const { at, action, owner, taskId: task, ...said } = entry;
  const place = placeOfSaid({ at, action, owner, task });
  return { at, action, owner, task, said: cells.write(JSON.stringify(said), saidColumn, place) };
}

export function entryOf<Text>(row: SaidRow<Text>, cells: Cells<Text>): AuditEntry {
  const { at, action, owner, task: taskId } = row;
  const said = JSON.parse(cells.read(row.said, saidColumn, placeOfSaid(row)));
  return { at, action, owner, taskId, ...said };
}

export function isWanted(
  { at, action }: Pick<SaidRow<unknown>, 'at' | 'action'>,
  { action: wanted, since, until }: AuditQuery,
): boolean {
  if (wanted !== undefined && action !== wanted) return false;
  return (since === undefined || at >= since) && (until === undefined || at < until);
}
