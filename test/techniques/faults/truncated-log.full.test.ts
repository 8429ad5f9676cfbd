import { existsSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { hasCode } from '../../../src/model/errors.ts';
import type { TaskId } from '../../../src/model/task.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { temporaryFile, temporaryFolder } from '../../kit/lifetime.ts';
import { seededRandom, seedOfThisRun } from '../../kit/random.ts';
import { copyOf, flipByte, orDamage } from './files.ts';
import { type Acknowledged, lookFor, Other } from './other.ts';
import { populate } from './population.ts';

/*
 * A process is killed while its last transactions are only in the write-ahead log, and the log is damaged. Either all
 * that was acknowledged can be read, or opening says that something is missing.
 */

const headerBytes = 32;
const frameBytes = 24 + 4_096;
const randomDamages = process.env.HOLDFAST_LANE === 'long' ? 400 : 25;
const seed = seedOfThisRun();
const random = seededRandom(seed);

const folder = temporaryFolder();
const large = join(folder, 'tasks.db');
beforeAll(() => populate(large, { tasks: 900, seed: 7, long: 85, purged: 10 }));

interface Wreck {
  readonly file: string;
  readonly acknowledged: ReadonlyMap<TaskId, Acknowledged>;
}

/** What a killed process leaves behind, by how much of its log was already in the database file. */
const wrecks: readonly [title: string, wreck: () => Promise<Wreck>][] = [
  ['of which nothing is in the file', () => wreckOf(temporaryFile(), (other) => other.do('work', 40, seed))],
  [
    'that is all in the file',
    () =>
      wreckOf(temporaryFile(), async (other) => {
        await other.do('work', 40, seed);
        await other.do('openAgain');
      }),
  ],
  [
    'of which one half is in the file',
    () =>
      wreckOf(temporaryFile(), async (other) => {
        await other.do('work', 20, seed);
        await other.do('read');
        await other.do('work', 20, seed + 1);
        await other.do('openAgain');
      }),
  ],
  [
    'that is all in a large file with free pages',
    () =>
      wreckOf(copyOf(large), async (other) => {
        await other.do('work', 60, seed);
        await other.do('openAgain');
      }),
  ],
];

describe.each(wrecks)('a log %s', (_, makeWreck) => {
  test('may be cut, spoilt or removed, and nothing acknowledged is lost without a word', async () => {
    const wreck = await makeWreck();
    const scratch = temporaryFile();
    const seen = { refused: 0, sound: 0 };
    for (const [damage, act] of damagesOf(wreck.file)) {
      const file = copyOf(wreck.file, scratch);
      act(`${file}-wal`);
      const database = await orDamage(openSqlite(file));
      if (hasCode(database, 'STORE_CORRUPT')) {
        seen.refused++;
        expect(database.message, damage).toContain(file);
        expect(database.message, damage).toMatch(/Restore|restore/);
        continue;
      }
      const { lost, reported } = await lookFor(wreck.acknowledged, database.store);
      await database.close();
      expect(lost, damage).toEqual([]);
      seen[reported.length > 0 ? 'refused' : 'sound']++;
    }
    // Otherwise the damages were not damages, or the whole log was not read at all.
    expect(seen.refused).toBeGreaterThan(5);
    expect(seen.sound).toBeGreaterThan(0);
  });
});

test('a file that is refused stays as it was found', async () => {
  const { file } = await wreckOf(temporaryFile(), (other) => other.do('work', 20, seed));
  truncateSync(`${file}-wal`, statSync(`${file}-wal`).size / 2);
  const before = [readFileSync(file), readFileSync(`${file}-wal`)];
  expect(await orDamage(openSqlite(file))).toMatchObject({ code: 'STORE_CORRUPT' });
  expect([readFileSync(file), readFileSync(`${file}-wal`)]).toEqual(before);
});

test('with the whole log put back, all is there again', async () => {
  const { file, acknowledged } = await wreckOf(temporaryFile(), (other) => other.do('work', 20, seed));
  const damaged = copyOf(file);
  truncateSync(`${damaged}-wal`, headerBytes + 20 * frameBytes);
  expect(await orDamage(openSqlite(damaged))).toMatchObject({ code: 'STORE_CORRUPT' });
  const { store } = await openSqlite(copyOf(file, damaged));
  expect(await lookFor(acknowledged, store)).toEqual({ lost: [], reported: [] });
  await store.close();
});

test('to go on with what is left, the named files are deleted', async () => {
  // A fixed load: with a random one, all of the few tasks may have changed in the half that is cut off.
  const { file, acknowledged } = await wreckOf(temporaryFile(), (other) => other.do('work', 60, 7));
  truncateSync(`${file}-wal`, statSync(`${file}-wal`).size / 2);
  await followTheRemedy(file, await orDamage(openSqlite(file)));
  const { store } = await openSqlite(file);
  const { lost } = await lookFor(acknowledged, store);
  expect(lost.length).toBeGreaterThan(0);
  expect(lost.length).toBeLessThan(acknowledged.size);
  await store.close();
});

test('a log that is older than the file is named among the files to delete, and nothing is lost with it', async () => {
  const { file, acknowledged } = await wreckOf(copyOf(large), async (other) => {
    await other.do('work', 60, seed);
    await other.do('openAgain');
  });
  truncateSync(`${file}-wal`, headerBytes + 30 * frameBytes);
  const refusal = await orDamage(openSqlite(file));
  expect((refusal as Error).message).toContain(`delete ${file}-wal and ${file}-instances`);
  await followTheRemedy(file, refusal);
  expect(existsSync(`${file}-wal`)).toBe(false);
  const { store } = await openSqlite(file);
  expect(await lookFor(acknowledged, store)).toEqual({ lost: [], reported: [] });
  await store.close();
});

async function wreckOf(file: string, act: (other: Other) => Promise<unknown>): Promise<Wreck> {
  const other = new Other(file);
  await other.do('open');
  await act(other);
  await other.kill();
  return { file, acknowledged: other.acknowledged };
}

/** Every kind of damage by name, and as many at random. */
function damagesOf(file: string): [name: string, act: (log: string) => void][] {
  const { size } = statSync(`${file}-wal`);
  const frames = (size - headerBytes) / frameBytes;
  const cutTo = (bytes: number): [string, (log: string) => void] => [
    `cut to ${bytes} of ${size} bytes (HOLDFAST_SEED=${seed})`,
    (log) => truncateSync(log, bytes),
  ];
  const flipAt = (at: number): [string, (log: string) => void] => [
    `byte ${at} of ${size} flipped (HOLDFAST_SEED=${seed})`,
    (log) => flipByte(log, at),
  ];
  return [
    ['nothing', () => {}],
    ['removed', (log) => rmSync(log)],
    cutTo(0),
    cutTo(headerBytes),
    cutTo(Math.floor(size / 2)),
    cutTo(headerBytes + Math.floor(frames / 2) * frameBytes + 1_000),
    cutTo(size - frameBytes),
    cutTo(size - 1),
    flipAt(10),
    flipAt(Math.floor(size / 2)),
    ...Array.from({ length: randomDamages }, () => {
      const frame = headerBytes + random.between(0, frames - 1) * frameBytes;
      if (random.chance(0.6)) return cutTo(frame);
      return random.chance(0.5) ? cutTo(frame + random.between(1, frameBytes - 1)) : flipAt(frame + 100);
    }),
  ];
}

/** Deletes what the message says must be deleted to go on. */
async function followTheRemedy(file: string, refusal: unknown): Promise<void> {
  const [, named] = /and delete (.*)\.$/.exec((refusal as Error).message)!;
  for (const leftover of named!.split(' and ')) {
    expect(leftover).toMatch(new RegExp(`^${file}-(wal|instances)$`));
    rmSync(leftover, { recursive: true });
  }
}
