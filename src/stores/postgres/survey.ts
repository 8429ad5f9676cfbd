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
  const surveyor = new Surveyor(new PostgresSurveySource(connections, vault, schema), { clock });
  const look = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      return await vault.reading(read);
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
