/** The `Survey` on SQLite. */
import type { Survey } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import { Surveyor } from '../values/surveyor.ts';
import type { Cells } from './cells.ts';
import { type Connection, worded } from './driver.ts';
import { inTurns, SqliteSurveySource } from './survey-source.ts';

export function sqliteSurvey(parts: {
  readonly db: Connection;
  readonly cells: Cells;
  readonly clock: Clock;
  readonly place: string;
}): Survey {
  const { db, cells, clock, place } = parts;
  const surveyor = new Surveyor(new SqliteSurveySource(db, cells, inTurns), { clock });
  const look = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      throw worded(error, place);
    }
  };
  return {
    list: (query) => look(() => surveyor.list(query)),
    count: (filter, upTo) => look(() => surveyor.count(filter, upTo)),
    overview: (query) => look(() => surveyor.overview(query)),
    history: (id, query) => look(() => surveyor.history(id, query)),
  };
}
