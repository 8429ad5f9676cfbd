/** Hosts that are killed again and again between a call and its result, until everything is delivered. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sqliteHandles } from 'holdfast/client';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { Program, sources } from '../../kit/process.ts';
import { type Random, seededRandom } from '../chaos/random.ts';
import { readSnapshot } from '../chaos/snapshot.ts';
import type { HostOptions } from './host.ts';
import { problemsOf, type Report, reportOf } from './judge.ts';
import { readLines } from './lines.ts';

export interface Way {
  readonly name: string;
  readonly isModern: boolean;
  readonly drafts: boolean;
}

export const ways: readonly Way[] = [
  { name: '2026-07-28', isModern: true, drafts: false },
  { name: '2025-11-25', isModern: false, drafts: false },
  { name: '2026-07-28 with subtasks', isModern: true, drafts: true },
  { name: '2025-11-25 with every draft', isModern: false, drafts: true },
];

/** Most of a host's short life would be spent reading its sources. */
function start(program: string, args: readonly string[], cache: string): Program {
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  return new Program(sources(join(import.meta.dirname, program), ...args), { env });
}

/** Kills hosts that talk to one server, each way at the same time as the others. */
export async function killHosts(
  some: readonly Way[],
  { kills, seed }: { readonly kills: number; readonly seed: number },
): Promise<{ readonly reports: readonly Report[]; readonly problems: readonly string[] }> {
  const folder = temporaryFolder();
  const store = join(folder, 'tasks.db');
  const serving = ['--port', '0', '--store', `sqlite:${store}`, '--drafts'];
  const server = start('../../fixture/main.ts', serving, join(folder, 'cache'));
  try {
    const url = await server.readyUrl();
    const crews = some.map((way, n) => new Crew(way, url, folder, seededRandom(seed + n)));
    await Promise.all(crews.map((crew) => crew.live(Math.ceil(kills / some.length))));
    await server.kill('SIGTERM');
    const { tasks } = readSnapshot(store);
    const roots = [...tasks.values()].filter(({ parentId }) => parentId === undefined).length;
    const cases = crews.map((crew) => crew.found());
    const records = cases.reduce((sum, one) => sum + one.records.length, 0);
    const problems = cases.flatMap((one) => problemsOf(one).map((problem) => `${one.way}: ${problem}`));
    if (roots !== records) problems.push(`${records} calls were made, and the server has ${roots} tasks`);
    return { reports: cases.map(reportOf), problems };
  } finally {
    await server.kill();
  }
}

/** The lives of one host. */
class Crew {
  readonly #way: Way;
  readonly #url: string;
  readonly #random: Random;
  readonly #path: string;
  readonly #cache: string;
  #kills = 0;
  #life = 0;

  constructor(way: Way, url: string, folder: string, random: Random) {
    this.#way = way;
    this.#url = url;
    this.#random = random;
    this.#path = join(folder, way.name.replaceAll(' ', '-'));
    this.#cache = join(folder, 'cache');
  }

  async live(kills: number): Promise<void> {
    while (this.#kills < kills) await this.#liveOnce(true);
    const code = await this.#liveOnce(false);
    if (code !== 0) throw new Error(`The last host of ${this.#way.name} ended with ${code}.`);
  }

  found() {
    const handles = sqliteHandles(`${this.#path}.db`);
    const records = handles.list();
    handles.close();
    return { way: this.#way.name, kills: this.#kills, lines: readLines(`${this.#path}.log`), records };
  }

  async #liveOnce(isKilled: boolean): Promise<number | null> {
    const life = ++this.#life;
    const options: HostOptions = {
      url: this.#url,
      registry: `${this.#path}.db`,
      log: `${this.#path}.log`,
      seed: this.#random.between(0, 2 ** 31),
      life,
      isModern: this.#way.isModern,
      drafts: this.#way.drafts,
      calls: isKilled && (life === 1 || this.#random.chance(0.6)) ? this.#random.between(2, 4) : 0,
    };
    const file = `${this.#path}-${life}.json`;
    writeFileSync(file, JSON.stringify(options));
    const host = start('./host.ts', [file], this.#cache);
    if (isKilled) {
      await Promise.race([once(host.lines, 'line'), host.exit]);
      await Promise.race([pause(this.#moment()), host.exit]);
      host.kill();
    }
    const { code, signal } = await host.exit;
    if (code !== null && code !== 0) throw new Error(`A host ended by itself: ${host.complaints}`);
    if (signal === 'SIGKILL') this.#kills++;
    return code;
  }

  /** Soon after it began, or some time later: most of what is delicate happens early. */
  #moment(): number {
    return this.#random.chance(0.5) ? this.#random.between(0, 120) : this.#random.between(100, 600);
  }
}
