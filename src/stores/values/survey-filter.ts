/** What a survey asks for: whether a row fits, and in which lanes such rows are. */
import { isDamaged, type SurveyFilter } from '../../engine/survey.ts';
import { type Standing, standingOf } from '../../model/standing.ts';
import { codeOf, isLive, standingAt, unknown } from './standing-codes.ts';
import { gathered, type Reader } from './survey-lanes.ts';
import type { Lane, PassedRow, SurveySource, Wanted } from './survey-source.ts';

/** A filter, its text ready to be compared. */
export interface Asked extends SurveyFilter {
  readonly needle?: string;
  /** Whether subtasks with an open question are among what is asked for. */
  readonly withAsking: boolean;
}

export function asked(filter: SurveyFilter): Asked {
  const withAsking = filter.standings?.includes('waiting') ?? false;
  const text = filter.text?.trim();
  if (text === undefined || text === '') {
    const { text: _, ...rest } = filter;
    return { ...rest, withAsking };
  }
  return { ...filter, text, needle: text.toLowerCase(), withAsking };
}

type Compared = Omit<PassedRow, 'seq' | 'isSeen' | 'length'>;

/** What stands in columns is compared first: the body is opened only if nothing else decides. */
export function fits(asked: Asked, row: Compared): boolean {
  const { owner, tool, standings, since, until, needle } = asked;
  if (owner !== undefined && row.owner !== owner) return false;
  if (tool !== undefined && row.tool !== tool) return false;
  if (standings && !standings.includes(standingAt(row.standing) ?? standingIn(row))) return false;
  if (since !== undefined || until !== undefined) {
    const at = row.createdAt ?? row.read().createdAt;
    if (at < (since ?? at) || at >= (until ?? Number.POSITIVE_INFINITY)) return false;
  }
  return needle === undefined || isFound(needle, row);
}

function standingIn({ read }: Compared): Standing {
  const task = read();
  return isDamaged(task) ? (task.standing ?? 'lost') : standingOf(task);
}

function isFound(needle: string, { id, tool, owner, statusMessage }: Compared): boolean {
  if ([id, tool, owner].some((text) => text.toLowerCase().includes(needle))) return true;
  return statusMessage()?.toLowerCase().includes(needle) ?? false;
}

/**
 * In which lanes what is asked for can be. Live tasks that are too many to be gathered are found by going back through
 * all, like those that completed.
 */
export async function lanesFor(
  query: Asked,
  source: SurveySource,
  { before, bodies }: { readonly before: number; readonly bodies: boolean },
): Promise<Reader[]> {
  const { owner, tool, standings, withAsking } = query;
  const wanted: Wanted = { filter: query, bodies };
  const reader =
    (lane: Lane): Reader =>
    (below, limit) =>
      source.rows(lane, below, limit, wanted);
  const widest = reader(owner === undefined ? { of: 'all' } : { of: 'owner', owner });
  const asking = withAsking ? [reader({ of: 'asking' })] : [];
  const isRare = standings !== undefined && !standings.includes('completed');
  if (!isRare && tool === undefined) return [widest, ...asking];
  if (owner !== undefined && (await source.hasFew(owner))) return [widest, ...asking];
  const live = (standings ?? (['queued', 'running', 'waiting'] as const)).filter(isLive);
  const seqs = live.length > 0 ? await source.live([unknown, ...live.map(codeOf)], owner) : [];
  if (!seqs) return [widest, ...asking];
  const ended: Lane[] = isRare
    ? standings.filter((one) => !isLive(one)).map((standing) => ({ of: 'standing', standing }))
    : [{ of: 'tool', tool: tool! }];
  const newestFirst = seqs.filter((seq) => seq < before).sort((a, b) => b - a);
  // In the order in which tasks go from one lane to another: those that move meanwhile are met twice, and never missed.
  const unknowns = isRare ? [reader({ of: 'unknown' })] : [];
  return [...unknowns, ...asking, gathered(source, newestFirst, wanted), ...ended.map(reader)];
}
