/** Servers on one store, and a call whose server died: sent many times at once, and in its session. */
import { expect, onTestFinished, test } from 'vitest';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
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

test('without a token a call whose server died is joined at the other, in the same session only', async () => {
  const place = new Place();
  const settings = { file: place.database, tools: 'hand-over', handOver: '1h' } as const;
  const [first, second] = [await serve(settings), await serve(settings)];
  const peer = new Peer(first.url, { capabilities: {} });
  await peer.open();
  void peer.call('steps', place.work()).catch(() => {});
  await expect.poll(() => place.tasks().map(({ version }) => version > 1)).toEqual([true]);
  await first.kill();

  const stranger = new Peer(second.url, { capabilities: {} });
  await stranger.open();
  const anew = stranger.call('steps', place.work());
  await expect.poll(() => place.trace()).toEqual(['first', 'first']);
  const back = new Peer(second.url, { capabilities: {} });
  back.sessionId = peer.sessionId;
  const again = back.call('steps', place.work());
  place.open();
  for (const one of [anew, again]) expect(textOf((await one).result)).toBe('both');
  expect(place.trace()).toEqual(['first', 'first', 'second', 'second']);
});
