/** Where the rows of a lane are, in SQL. */
import { codeOf } from '../values/standing-codes.ts';
import type { Lane, Wanted } from '../values/survey-source.ts';
import { askingColumns, isUnknown, passedColumns } from '../values/survey-sql.ts';

export type Value = string | number;

/** What is read of each row. */
export function columnsFor(
  wanted: Wanted,
  lane?: Lane,
): { readonly sql: string; readonly values: readonly Value[] } {
  const values: Value[] = [];
  const bind = (value: Value) => {
    values.push(value);
    return '?';
  };
  const sql = lane?.of === 'asking' ? askingColumns(wanted, bind) : passedColumns(wanted, bind);
  return { sql, values };
}

/** The index of a lane, and which of its entries. */
export function placeOf(lane: Lane): { readonly from: string; readonly values: readonly Value[] } {
  switch (lane.of) {
    case 'all':
      return { from: 'where true', values: [] };
    case 'owner':
      return {
        from: 'indexed by tasks_by_owner where parent_id is null and owner = ?',
        values: [lane.owner],
      };
    case 'tool':
      return {
        from: 'indexed by tasks_ended_by_tool where ended_at is not null and tool = ?',
        values: [lane.tool],
      };
    case 'standing':
      return {
        from: 'indexed by tasks_ended_badly where standing > 4 and ended_at is not null and standing = ?',
        values: [codeOf(lane.standing)],
      };
    case 'unknown':
      return { from: `indexed by tasks_of_unknown_standing where ${isUnknown}`, values: [] };
    case 'asking':
      return { from: 'indexed by tasks_waiting where waiting = 1', values: [] };
  }
}
