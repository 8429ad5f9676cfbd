import type { Operation, Side } from './measure.ts';
import type { Connection } from './server-connection.ts';

/** Each operation uses all connections in parallel, each with one request after the other, until `total` are done. */
export function bursts(
  connections: readonly Connection[],
  total: number,
  prepare: () => (connection: Connection) => Promise<unknown>,
): Side {
  const burst = (): Operation => {
    const left = Array.from({ length: total }, prepare);
    const work = async (connection: Connection) => {
      for (let next = left.pop(); next; next = left.pop()) await next(connection);
    };
    return () => Promise.all(connections.map(work));
  };
  return { prepare: (count) => Array.from({ length: count }, burst) };
}
