/** The `Survey` on Postgres: the server does the work, and what it gives comes in portions. */
import type { Survey } from '../../engine/survey.ts';
import type { Clock } from '../../model/clock.ts';
import { Surveyor } from '../values/surveyor.ts';
import { worded } from './driver.ts';
import type { Connections } from './pool.ts';
import { PostgresSurveySource } from './survey-source.ts';
import type { Vault } from './vault.ts';

export function postgresSurvey(parts: {
  readonly connections: Connections;
  readonly vault: Vault;
  readonly schema: string;
  readonly clock: Clock;
  readonly place: string;
}): Survey {
  const { connections, vault, schema, clock, place } = parts;
  const surveyor = new Surveyor(new PostgresSurveySource(connections, vault, schema, 'shown'), { clock });
  const look = async <T>(read: (surveyor: Surveyor) => Promise<T>): Promise<T> => {
    try {
      return await read(surveyor);
    } catch (error) {
      throw worded(error, place);
    }
  };
  return {
    list: (query) => look((surveyor) => surveyor.list(query)),
    count: (filter, upTo) => look((surveyor) => surveyor.count(filter, upTo)),
    overview: (query) => look((surveyor) => surveyor.overview(query)),
    history: (id, query) => look((surveyor) => surveyor.history(id, query)),
  };
}
