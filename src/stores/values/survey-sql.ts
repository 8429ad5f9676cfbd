/** The SQL that surveys of both databases have in common. */
import type { SurveyFilter } from '../../engine/survey.ts';
import { codeOf, unknown } from './standing-codes.ts';
import type { Wanted } from './survey-source.ts';

/** Rows of which only the body tells how they stand: older than the column, or written by an older Holdfast since. */
export const isUnknown = `(standing = 0
  or (standing < 4 and ended_at is not null)
  or (standing = 8 and parent_id is null))`;

/** Adds a value to those of a statement, and gives what stands for it. */
export type Bind = (value: string | number) => string;

/** What columns alone can say of a filter; true of everything if it asks for nothing of the kind. */
export function conditionOf({ owner, tool, standings, since, until }: SurveyFilter, bind: Bind): string {
  const conditions = ['true'];
  if (owner !== undefined) conditions.push(`owner = ${bind(owner)}`);
  if (tool !== undefined) conditions.push(`tool = ${bind(tool)}`);
  if (standings) conditions.push(`standing in (${standings.map(codeOf).join(', ') || 'null'})`);
  if (since !== undefined) conditions.push(`created_at >= ${bind(since)}`);
  if (until !== undefined) conditions.push(`created_at < ${bind(until)}`);
  return conditions.join(' and ');
}

/**
 * A row as surveys pass it: of one that they do not see little more than its number, and a body only of those that fit
 * as far as columns tell, or of which columns do not tell enough. A code that is not to be believed is not given.
 */
export function passedColumns({ filter, bodies }: Wanted, bind: Bind): string {
  const fitting = bodies ? conditionOf(filter, bind) : 'false';
  const isTold = `${isUnknown} or created_at is null or (${fitting})`;
  return columnsWith(`case when parent_id is null and (${isTold}) then body end`);
}

/**
 * The same among tasks with an open question, where surveys see subtasks and roots are those that they do not: roots
 * are in other lanes. Their standing has no code of its own, and needs none here.
 */
export function askingColumns({ filter, bodies }: Wanted, bind: Bind): string {
  const { standings: _, ...others } = filter;
  const isTold = `created_at is null or (${bodies ? conditionOf(others, bind) : 'false'})`;
  return `seq, id, owner, tool, ${codeOf('waiting')} as standing, created_at, lease_until,
    parent_id is null as hidden, case when parent_id is not null and (${isTold}) then body end as body`;
}

export function columnsWith(body: string): string {
  return `seq, id, owner, tool, case when ${isUnknown} then ${unknown} else standing end as standing, created_at,
    lease_until, parent_id is not null as hidden, ${body} as body`;
}

/** By how much clocks of different machines may differ: tasks are numbered nearly in the order of their making. */
export const clockSlackMs = 60_000;

/** No task that fits ended earlier. */
export function firstEnd({ since }: SurveyFilter): number {
  return since === undefined ? Number.MIN_SAFE_INTEGER : since - clockSlackMs;
}
