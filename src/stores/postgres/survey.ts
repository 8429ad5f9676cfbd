/** The `Survey` on Postgres: the server does the work, and what it returns comes in portions. */
import type { Survey } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import type { Sql } from '../values/survey-sql.ts';
import { guarded, Surveyor, type SurveySource } from '../values/surveyor.ts';
import { name as stored } from './cells.ts';
import { wording } from './driver.ts';
import type { Connections } from './pool.ts';
import { numbered, withNames } from './tables.ts';
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
    const names = values.map((value) => (typeof value === 'string' ? stored(value) : value));
    const rows = await connections.query<Record<string, unknown>>(numbered(text), names);
    return rows.map((row) => withNames(row) as Row);
  };
  const source: SurveySource<string> = {
    tasks: `${schema}.tasks`,
    commits: `${schema}.commits`,
    by: () => '',
    isAsleep: 'not ready',
    read: (text, column, id, version) => vault.read(text, column, id, version),
    all,
  };
  return guarded(new Surveyor(source, { clock }), (read) => wording(place, read));
}
