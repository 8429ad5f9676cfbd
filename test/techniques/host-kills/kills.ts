/** Hosts that are killed again and again between a call and its result, until everything is delivered. */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sqliteCallRegistry } from 'holdfast/client';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { Program, sources } from '../../kit/process.ts';
import { type Random, seededRandom } from '../../kit/random.ts';
import { readSnapshot } from '../chaos/snapshot.ts';
import type { HostOptions } from './host.ts';
import { type Case, problemsOf, reportOf } from './judge.ts';
import { readLines } from './lines.ts';

export const ways = [
  { name: '2026-07-28', isModern: true, drafts: false },
  { name: '2025-11-25', isModern: false, drafts: false },
  { name: '2026-07-28 with subtasks', isModern: true, drafts: true },
  { name: '2025-11-25 with every draft', isModern: false, drafts: true },
];
type Way = (typeof ways)[number];

function start(program: string, ...args: readonly string[]): Program {
  return new Program(sources(join(import.meta.dirname, program), ...args));
}

/** Kills hosts that talk to one server, each way at the same time as the others. */
export async function killHosts(
  some: readonly Way[],
  { kills, seed }: { readonly kills: number; readonly seed: number },
) {
  const folder = temporaryFolder();
  const store = join(folder, 'tasks.db');
  const serving = ['--port', '0', '--store', `sqlite:${store}`, '--drafts'];
  const server = start('../../fixture/main.ts', ...serving);
  try {
    const url = await server.readyUrl();
    const enough = Math.ceil(kills / some.length);
    const cases = await Promise.all(
      some.map((way, n) => livesOf(way, url, folder, seededRandom(seed + n), enough)),
    );
    await server.kill('SIGTERM');
    const { tasks } = readSnapshot(store);
    const roots = [...tasks.values()].filter(({ parentId }) => parentId === undefined).length;
    const records = cases.reduce((sum, one) => sum + one.records.length, 0);
    const problems = cases.flatMap((one) => problemsOf(one).map((problem) => `${one.way}: ${problem}`));
    if (roots !== records) problems.push(`${records} calls were made, and the server has ${roots} tasks`);
    return { reports: cases.map(reportOf), problems };
  } finally {
    await server.kill();
  }
}

/** Lets one host live again and again, until it was killed so often, and then to its end. */
async function livesOf(way: Way, url: string, folder: string, random: Random, enough: number): Promise<Case> {
  const path = join(folder, way.name.replaceAll(' ', '-'));
  const [registry, log] = [`${path}.db`, `${path}.log`];
  let kills = 0;
  for (let life = 1, isLast = false; !isLast; life++) {
    isLast = kills >= enough;
    const { isModern, drafts } = way;
    const calls = !isLast && (life === 1 || random.chance(0.6)) ? random.between(2, 4) : 0;
    const seed = random.between(0, 2 ** 31);
    const options: HostOptions = { url, registry, log, seed, life, isModern, drafts, calls };
    const host = start('./host.ts', JSON.stringify(options));
    if (!isLast) {
      await Promise.race([once(host.lines, 'line'), host.exit]);
      // Soon after it began, or some time later: most of what is delicate happens early.
      const moment = random.chance(0.5) ? random.between(0, 120) : random.between(100, 600);
      await Promise.race([pause(moment), host.exit]);
      host.kill();
    }
    const { code, signal } = await host.exit;
    if (signal === 'SIGKILL' && !isLast) kills++;
    else if (code !== 0) throw new Error(`A host of ${way.name} ended by itself: ${host.complaints}`);
  }
  const handles = sqliteCallRegistry(registry);
  const records = handles.list();
  handles.close();
  return { way: way.name, kills, lines: readLines(log), records };
}
