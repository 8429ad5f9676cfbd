import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Caller } from '../../../scripts/chaos/cluster/caller.ts';
import { type Began, HistoryFile, readHistory } from '../../../scripts/chaos/cluster/history.ts';
import { Members } from '../../../scripts/chaos/cluster/members.ts';
import { newId } from '../../../src/model/id.ts';
import { seededRandom } from '../../kit/random.ts';
import { until } from '../../kit/until.ts';

export const leaseMs = 2_000;
const haulMs = 2_000;

/** Without a URL, on a file of its own. */
export async function stopAndGoOn(url?: string, program?: string) {
  // Tests of this scene run side by side, and such a test has no end that a helper could wait for.
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-stopped-'));
  const store = url ?? `sqlite:${join(folder, 'tasks.db')}`;
  const history = new HistoryFile(folder, 'run');
  const members = new Members(
    { store, folder, run: `stopped-${newId().slice(0, 8)}`, lease: leaseMs },
    history,
    program,
  );
  const hauls = () =>
    readHistory(folder).filter((entry): entry is Began => entry.what === 'began' && entry.step === 'haul');
  try {
    await members.start({ server: 1, worker: 2 });
    const caller = new Caller({
      members,
      history,
      random: seededRandom(1),
      plan: { key: newId() + newId(), input: { rest: 50, haul: haulMs }, listens: false },
    });
    const errand = caller.run();
    await until(() => hauls().length === 1);
    const stopped = members.of('worker').find(({ name }) => name === hauls()[0]!.process)!;
    members.stop(stopped);
    await until(() => hauls().length === 2);
    members.continue(stopped);
    // What comes of a task that two wrote at once, nobody knows.
    await Promise.race([errand, pause(program === undefined ? 60_000 : 10_000)]);
    // It takes its time to find out.
    const log = () =>
      members.logs.filter(({ process }) => process === stopped.name).map(({ entry }) => entry.event);
    if (program === undefined) await until(() => log().includes('superseded'));
    await caller.lookEverywhere();
    return { history: readHistory(folder), stopped: stopped.name, log: log() };
  } finally {
    await members.killAll();
    rmSync(folder, { recursive: true, force: true });
  }
}
