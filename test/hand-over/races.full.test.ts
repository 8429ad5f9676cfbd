/** Servers on one store, and a call whose server died: sent many times at once, and in its session. */
import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { textOf } from '../kit/text.ts';
import { freshDatabase } from '../postgres/database.ts';
import { Place } from '../serving/place.ts';
import type { ServerSettings } from '../serving/server.ts';
import { serve } from '../serving/server-process.ts';
import { chaptersIn } from './ledgers.ts';

const token = 'ada-has-a-token-that-nobody-guesses';

const stores: Readonly<Record<string, (file: string) => Promise<Partial<ServerSettings>>>> = {
  SQLite: async (file) => ({ file }),
  'encrypted SQLite': async (file) => ({ file, encrypted: true }),
  Postgres: async () => {
    const { url: store, remove } = await freshDatabase();
    onTestFinished(remove);
    return { store };
  },
};

test.each(Object.entries(stores))(
  'on %s one of them joins, the others run, and a later one runs, too',
  async (_, storeIn) => {
    const place = new Place();
    const settings = { ...(await storeIn(place.database)), tokens: { [token]: 'ada' } };
    const start = () => serve({ ...settings, tools: 'hand-over', handOver: '1h', concurrency: 32 });
    const [first, second, third] = [await start(), await start(), await start()];
    const client = (server: typeof first) => server.client({ tasks: false, capabilities: {}, token });
    const { trace: file, gate: lastChapter } = place.work();
    const input = { file, steps: 3, delayMs: 50, lastChapter };
    const reordered = { lastChapter, delayMs: 50, steps: 3, file };
    writeFileSync(lastChapter, '2');
    client(first).openCall('chapters', input);
    // So the first chapter is recorded.
    await expect.poll(() => chaptersIn(file)).toContain(2);
    await first.kill();
    writeFileSync(lastChapter, 'none');

    const calls = Array.from({ length: 8 }, (_, n) =>
      client(n % 2 === 0 ? second : third).call('chapters', n % 3 === 0 ? reordered : input),
    );
    const written = { steps: 3, signedBy: 'nobody' };
    for (const { result } of await Promise.all(calls)) expect(result.structuredContent).toEqual(written);
    const begun = () => chaptersIn(file).filter((chapter) => chapter === 1).length;
    expect(begun()).toBe(calls.length);

    const { result } = await client(second).call('chapters', input);
    expect(result.structuredContent).toEqual(written);
    expect(begun()).toBe(calls.length + 1);
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
