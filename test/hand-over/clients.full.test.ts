/** `kill -9` of clients and servers in the middle of a plain call, again and again, on one SQLite file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder, untilEnd } from '../kit/lifetime.ts';
import { Program, sources } from '../kit/process.ts';
import { seededRandom, seedOfThisRun } from '../kit/random.ts';
import { queryFile } from '../kit/sqlite.ts';
import type { ClientSettings } from './client-process.ts';
import { chaptersIn, repeatedIn } from './ledgers.ts';
import { startServer } from './server-process.ts';

const steps = 24;
const token = 'ada-has-a-token-that-nobody-guesses';
const server = `${import.meta.dirname}/../serving/server.ts`;

/** Each test starts ten programs or more, one after the other. */
const timeout = 300_000;

/** The call that each task answers; null if its connection was lost. */
const answeringIn = (folder: string) =>
  queryFile(join(folder, 'tasks.db'), 'select answering from tasks').map(({ answering }) => answering);

/**
 * Loses the client several times while it waits, and gives what the last one got. The work goes on without a client,
 * but no further than to the chapter at which the next one is lost, however long programs take to start.
 */
async function lost(
  folder: string,
  connect: () => Omit<ClientSettings, 'input'>,
  lose: (client: Program) => Promise<void>,
): Promise<unknown> {
  const seed = seedOfThisRun();
  console.log(`HOLDFAST_SEED=${seed} repeats the random choices of this run.`);
  const random = seededRandom(seed);
  const [file, lastChapter] = [join(folder, 'chapters'), join(folder, 'last-chapter')];
  const input = { file, steps, delayMs: 150, lastChapter };
  const start = () => {
    const settings: ClientSettings = { ...connect(), input };
    const program = `${import.meta.dirname}/client-process.ts`;
    return untilEnd(new Program(sources(program, JSON.stringify(settings))));
  };
  let chapter = 0;
  let before: unknown;
  for (let times = 0; times < 4; times++) {
    chapter += random.between(1, 4);
    writeFileSync(lastChapter, String(chapter));
    const client = start();
    const isAnother = (call: unknown) => call !== null && call !== before;
    await expect
      .poll(() => answeringIn(folder), { timeout: timeout / 2 })
      .toEqual([expect.toSatisfy(isAnother)]);
    [before] = answeringIn(folder);
    await expect.poll(() => chaptersIn(file).at(-1)).toBe(chapter);
    await lose(client);
  }
  writeFileSync(lastChapter, 'none');
  return JSON.parse(await start().line());
}

/** Kills the client. A call that is open is never joined: its server has to notice first. */
const killClient = (folder: string) => async (client: Program) => {
  await client.kill();
  await expect.poll(() => answeringIn(folder)).toEqual([null]);
};

function expectNoRepeats(folder: string): void {
  const written = chaptersIn(join(folder, 'chapters'));
  expect({ repeated: repeatedIn(written), last: written.at(-1) }).toEqual({ repeated: [], last: steps });
}

const settingsOf = (folder: string) =>
  ({ file: join(folder, 'tasks.db'), tokens: { [token]: 'ada' }, handOver: '1h' }) as const;

test('over HTTP, at whichever of two servers its successor calls again', { timeout }, async () => {
  const folder = temporaryFolder();
  await using first = await startServer(settingsOf(folder));
  await using second = await startServer(settingsOf(folder));
  let calls = 0;
  const connect = () => ({ url: (++calls % 2 === 0 ? first : second).url.href, token });
  expect(await lost(folder, connect, killClient(folder))).toEqual({ steps, signedBy: 'nobody' });
  expectNoRepeats(folder);
});

test('over HTTP, when its server dies together with it and the other one is called', {
  timeout,
}, async () => {
  const folder = temporaryFolder();
  await using first = await startServer(settingsOf(folder));
  await using second = await startServer(settingsOf(folder));
  const servers = [first, second];
  const connect = () => ({ url: servers[0]!.url.href, token });
  const killBoth = async (client: Program) => {
    const [called] = servers as [typeof first];
    await Promise.all([client.kill(), called.kill()]);
    await called.start();
    servers.reverse();
  };
  expect(await lost(folder, connect, killBoth)).toEqual({ steps, signedBy: 'nobody' });
  expectNoRepeats(folder);
});

test('over stdio, where the server goes with its client', { timeout }, async () => {
  const folder = temporaryFolder();
  const settings = { tools: 'hand-over', file: join(folder, 'tasks.db'), handOver: '1h', stdio: true };
  const command = sources(server, JSON.stringify(settings));
  const result = await lost(folder, () => ({ command }), killClient(folder));
  expect(result).toEqual({ steps, signedBy: 'nobody' });
  expectNoRepeats(folder);
});
