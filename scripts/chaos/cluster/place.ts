/** Where the tasks of a run are kept, and what can be done to that place. */
import type { Random } from '../../../test/kit/random.ts';

export interface Place {
  /** The URL of the store. */
  readonly url: string;
  /** Cuts some of the connections that the cluster has, and says how many. */
  cut?(random: Random): Promise<number>;
  /** As `pg_ctl restart -m immediate` does. */
  restart?(): Promise<void>;
  remove(): Promise<void>;
}

export function sqlitePlace(file: string): Place {
  return { url: `sqlite:${file}`, remove: async () => {} };
}

/** A Postgres of its own, which goes with it; its processes reach it through PgBouncer if they are to. */
export async function ownPostgres({ pgbouncer = false } = {}): Promise<Place> {
  const { startPostgres } = await import('../../../test/postgres/server.ts');
  const server = await startPostgres();
  const direct = await server.createDatabase();
  const place = { ...postgresPlace(direct), restart: () => server.restart('immediate') };
  if (!pgbouncer) return { ...place, remove: () => server.stop() };
  const { startBouncer } = await import('../../../test/postgres/bouncer.ts');
  const bouncer = await startBouncer(direct).catch(async (error) => {
    await server.stop();
    throw error;
  });
  // All processes of the run inherit it.
  process.env.HOLDFAST_DIRECT_URL = direct;
  const remove = async () => {
    await bouncer.stop();
    await server.stop();
  };
  return { ...place, url: bouncer.url, remove };
}

/** A database on a server that others may use: it is not restarted. What the run makes stays there. */
export function postgresPlace(url: string): Place {
  return {
    url,
    async cut(random) {
      const { query } = await import('../../../test/postgres/server.ts');
      const rows = await query(
        url,
        `select pid from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
      );
      const pids = rows.map(({ pid }) => Number(pid)).filter(() => random.chance(0.3));
      if (pids.length > 0)
        await query(url, `select pg_terminate_backend(pid) from unnest(array[${pids}]) as pid`);
      return pids.length;
    },
    remove: async () => {},
  };
}
