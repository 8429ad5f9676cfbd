/** What somebody finds who searches the bytes of every file of a database. */
import { expect, test } from 'vitest';
import { openSqlite } from '../../src/sqlite.ts';
import { temporaryFile } from '../kit/lifetime.ts';
import { expectWhole, Host } from './hosting.ts';
import { encryption } from './keys.ts';
import { foundIn, places } from './secrets.ts';

test('without encryption every one of the planted secrets is found: the search can find them', async () => {
  const file = temporaryFile();
  const host = await Host.open({ file, keys: [] });
  await host.do('work');
  expectWhole(await host.do('answer', await host.do('confide')));
  expect(foundIn(file).places).toEqual(places);
});

test('with encryption none is found while work runs, after kill -9, after the end, and in back-ups', async () => {
  const file = temporaryFile();
  const first = await Host.open({ file, keys: ['first'] });
  await first.do('work');
  const id = await first.do('confide');
  await first.do('backup', `${file}.backup`);
  const running = foundIn(file);
  expect(running.places).toEqual([]);
  expect(running.files).toEqual(
    expect.arrayContaining(['tasks.db', 'tasks.db-wal', 'tasks.db-shm', 'tasks.db.backup']),
  );
  await first.kill();
  expect(foundIn(file).places).toEqual([]);

  const backup = await openSqlite(`${file}.backup`, { encryption: encryption('first') });
  expect(await backup.store.get(id)).toMatchObject({ phase: 'waiting' });
  await backup.close();

  // The journal of the dead process is replayed: the question stands, and nothing before it is done again.
  const second = await Host.open({ file, keys: ['first'] });
  await second.do('work');
  expect(await second.do('again')).toBe(id);
  expectWhole(await second.do('answer', id));
  expect(foundIn(file).places).toEqual([]);
  await second.close();
  expect(foundIn(file).places).toEqual([]);
});

test('a file that was plain holds none after it was encrypted, though that was killed again and again', async () => {
  const file = temporaryFile();
  const plain = await Host.open({ file, keys: [] });
  await plain.do('work');
  const id = await plain.do('confide');
  await plain.do('count', 150, 5, 0).then((ids) => plain.do('outcomes', ids));
  await plain.kill();
  const notYetSaid = ['answer', 'result', 'structured result'];
  expect(foundIn(file).places).toEqual(places.filter((place) => !notYetSaid.includes(place)));

  let left: number = places.length;
  let kills = 0;
  for (; left > 0 && kills < 8; kills++) {
    const host = await Host.open({ file, keys: ['first'] });
    await Promise.race([host.do('rekey'), new Promise((late) => setTimeout(late, 5 + kills * 60))]);
    await host.kill();
    left = foundIn(file).places.length;
  }
  expect(kills).toBeGreaterThan(1);

  const host = await Host.open({ file, keys: ['first'] });
  await host.do('rekey');
  expect(foundIn(file).places).toEqual([]);
  await host.do('work');
  expect(await host.do('again')).toBe(id);
  expectWhole(await host.do('answer', id));
  await host.close();
  expect(foundIn(file).places).toEqual([]);
});

test('encryption that is switched off gives everything back, and the file opens without keys', async () => {
  const file = temporaryFile();
  const encrypted = await Host.open({ file, keys: ['first'] });
  await encrypted.do('work');
  const id = await encrypted.do('confide');
  await encrypted.close();
  const between = await Host.open({ file, keys: ['first'], current: null });
  await between.do('rekey');
  await between.close();
  const plain = await Host.open({ file, keys: [] });
  await plain.do('work');
  expect(await plain.do('again')).toBe(id);
  expectWhole(await plain.do('answer', id));
  await plain.close();
  expect(foundIn(file).places).toEqual(places);
});
