/** The store of a run, and the faults that can be injected into it. */
import type { Random } from '../../../test/kit/random.ts';

export interface Place {
  /** The URL of the store. */
  readonly url: string;
  /** Cuts some connections of the cluster, and returns how many. */
  cut?(random: Random): Promise<number>;
  /** Restarts the server like `pg_ctl restart -m immediate`. */
  restart?(): Promise<void>;
  remove(): Promise<void>;
}

export function sqlitePlace(file: string): Place {
  return { url: `sqlite:${file}`, remove: async () => {} };
}

/** Starts a Postgres server for the run, optionally with PgBouncer in front of it. */
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

/** A database on an existing server, which is not restarted. The data of the run stays there. */
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
