/** Two servers on one store, and the same call sent many times at once after it was lost. */
import { expect, onTestFinished, test } from 'vitest';
import { queryFile } from '../kit/sqlite.ts';
import { textOf } from '../kit/text.ts';
import { freshDatabase } from '../postgres/database.ts';
import { query } from '../postgres/server.ts';
import { Place } from '../serving/place.ts';
import type { RawClient } from '../serving/raw-client.ts';
import type { ServerSettings } from '../serving/server.ts';
import { serve } from '../serving/server-process.ts';

const token = 'ada-has-a-token-that-nobody-guesses';

interface Stored {
  readonly settings: Partial<ServerSettings>;
  query(sql: string): Promise<unknown[]>;
}

const stores: Readonly<Record<string, (file: string) => Promise<Stored>>> = {
  SQLite: async (file) => ({ settings: { file }, query: async (sql) => queryFile(file, sql) }),
  'encrypted SQLite': async (file) => ({
    settings: { file, encrypted: true },
    query: async (sql) => queryFile(file, sql),
  }),
  Postgres: async () => {
    const { url: store, remove } = await freshDatabase();
    onTestFinished(remove);
    return { settings: { store }, query: (sql) => query(store, sql.replace(' from ', ' from holdfast.')) };
  },
};

test.each(Object.entries(stores))(
  'on %s one of them joins, the others run, and a later one runs, too',
  async (_, storeIn) => {
    const place = new Place();
    const { settings, query } = await storeIn(place.database);
    const tokens = { [token]: 'ada' };
    const start = () => serve({ ...settings, tokens, tools: 'hand-over', handOver: '1h', concurrency: 32 });
    const [first, second, third] = [await start(), await start(), await start()];
    const client = (server: typeof first): RawClient =>
      server.client({ tasks: false, capabilities: {}, token });
    const { trace, gate } = place.work();
    client(first).openCall('steps', { trace, gate });
    // The step is recorded, and not only done.
    await expect.poll(async () => (await query('select 1 from commits')).length).toBeGreaterThan(1);
    expect(place.trace()).toEqual(['first']);
    await first.kill();

    const calls = Array.from({ length: 8 }, (_, n) =>
      client(n % 2 === 0 ? second : third).call('steps', n % 3 === 0 ? { gate, trace } : { trace, gate }),
    );
    const firsts = () => place.trace().filter((step) => step === 'first').length;
    await expect.poll(firsts).toBe(calls.length);
    place.open();
    for (const { result } of await Promise.all(calls)) expect(textOf(result)).toBe('both');
    expect(firsts()).toBe(calls.length);
    expect(place.trace().filter((step) => step === 'second')).toHaveLength(calls.length);

    expect(textOf((await client(second).call('steps', { trace, gate })).result)).toBe('both');
    expect(firsts()).toBe(calls.length + 1);
  },
);
