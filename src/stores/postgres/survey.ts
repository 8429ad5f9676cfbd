/** The `Survey` on Postgres: the server does the work, and what it returns comes in portions. */
import type { Survey } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import { DamagedRecord } from '../values/damaged.ts';
import type { Sql } from '../values/survey-sql.ts';
import { Surveyor, type SurveySource } from '../values/surveyor.ts';
import { named, name as stored } from './cells.ts';
import { worded } from './driver.ts';
import type { Connections } from './pool.ts';
import type { Vault } from './vault.ts';

export function postgresSurvey(parts: {
  readonly connections: Connections;
  readonly vault: Vault;
  readonly schema: string;
  readonly clock: Clock;
  readonly place: string;
}): Survey {
  const { connections, vault, schema, clock, place } = parts;
  const all = async <Row>({ text, values }: Sql): Promise<Row[]> => {
    let count = 0;
    const numbered = text.replaceAll('?', () => `$${++count}`);
    const names = values.map((value) => (typeof value === 'string' ? stored(value) : value));
    const rows = await connections.query<Record<string, unknown>>(numbered, names);
    for (const row of rows)
      for (const column of ['id', 'owner', 'tool'])
        if (column in row) row[column] = named(row[column] as string);
    return rows as Row[];
  };
  const surveyor = (damage: 'shown' | 'thrown') => {
    const source: SurveySource<string> = {
      tasks: `${schema}.tasks`,
      commits: `${schema}.commits`,
      by: () => '',
      isAsleep: 'not ready',
      damage,
      read: (text, column, id, version) => vault.read(text, column, id, version),
      all,
    };
    return new Surveyor(source, { clock });
  };
  const strict = surveyor('thrown');
  const tolerant = surveyor('shown');
  const reading = async <T>(read: (survey: Survey) => Promise<T>): Promise<T> => {
    try {
      // What looks damaged may be encrypted in a way that this process has not read of yet.
      return await vault
        .reading(() => read(strict))
        .catch((error: unknown) => {
          if (!(error instanceof DamagedRecord)) throw error;
          return vault.reading(() => read(tolerant));
        });
    } catch (error) {
      throw worded(error, place);
    }
  };
  return {
    list: (query) => reading((survey) => survey.list(query)),
    count: (filter, upTo) => reading((survey) => survey.count(filter, upTo)),
    overview: (query) => reading((survey) => survey.overview(query)),
    history: (id, query) => reading((survey) => survey.history(id, query)),
  };
}
