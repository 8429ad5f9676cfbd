/**
 * A worker that was stopped for longer than its heartbeat and goes on: it may do what it likes, and commits nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, test } from 'vitest';
import { Caller } from '../../../scripts/chaos/cluster/caller.ts';
import { checkHistory } from '../../../scripts/chaos/cluster/check-history.ts';
import { type Began, HistoryFile, readHistory } from '../../../scripts/chaos/cluster/history.ts';
import { Members } from '../../../scripts/chaos/cluster/members.ts';
import { problemText } from '../../../scripts/chaos/problem.ts';
import { newId } from '../../../src/model/id.ts';
import { seededRandom } from '../../kit/random.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../postgres/database.ts';

const leaseMs = 2_000;
const haulMs = 2_000;

const databases: Awaited<ReturnType<typeof freshDatabase>>[] = [];
afterAll(() => Promise.all(databases.map((database) => database.remove())));

const stores = [
  ['SQLite', async () => undefined],
  [
    'Postgres',
    async () => {
      const database = await freshDatabase();
      databases.push(database);
      return database.url;
    },
  ],
] as const;

// They wait more than they work.
describe.concurrent.each(stores)('on %s', { timeout: 600_000 }, (_, store) => {
  test('a worker that was stopped past its heartbeat and continued cannot commit, and says so in its log', async ({
    expect,
  }) => {
    const { history, stopped, log } = await stopAndGoOn(await store());
    expect(problems({ history })).toEqual([]);
    expect(log).toContain('superseded');
    // It did the step to its end, in vain.
    const did = history.filter((entry) => entry.what === 'did' && entry.step === 'haul');
    expect(did.map((entry) => entry.what === 'did' && entry.process)).toContain(stopped);
    expect(did).toHaveLength(2);
  });

  test('the checker notices a build whose fencing is off', async ({ expect }) => {
    const aftermath = await stopAndGoOn(await store(), import.meta.resolve('./unfenced.ts'));
    const found = problems(aftermath).join('\n');
    console.log(found);
    expect(found).toMatch(
      // Which of its rules is broken first depends on who is faster.
      new RegExp(
        `haul was committed 2 times|haul was committed by pass .*, and ran again|${aftermath.stopped} committed haul under the claim of pass`,
      ),
    );
  });
});

/** Other tests share the machine; `chaos.long.test.ts` asserts how soon tasks are taken over. */
const anyTime = { killed: Infinity, stopped: Infinity };

function problems({ history }: { history: Parameters<typeof checkHistory>[0] }): string[] {
  return checkHistory(history, anyTime, leaseMs).problems.map(problemText);
}

/** Without a URL, on a file of its own. */
async function stopAndGoOn(url?: string, program?: string) {
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
    await caller.pollEverywhere();
    return { history: readHistory(folder), stopped: stopped.name, log: log() };
  } finally {
    await members.killAll();
    rmSync(folder, { recursive: true, force: true });
  }
}
