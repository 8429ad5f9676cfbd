/** `npm run chaos`: randomly kills and stalls processes and moves clocks while tasks run, and reports what was lost. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Place } from './chaos/cluster/place.ts';
import type { ClusterReport } from './chaos/cluster/report.ts';
import { isSound, lastLine, type Report, sumOf } from './chaos/report.ts';

const options = {
  kills: { type: 'string' },
  seed: { type: 'string' },
  store: { type: 'string' },
  pgbouncer: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const help = `Kills and stalls processes and moves their clocks at random while tasks run, then checks what happened.

Usage: npm run chaos -- [--kills N] [--seed S] [--store sqlite:PATH | postgres: | postgres://…] [--pgbouncer] [--json]

  --kills N             how many processes to kill; default 20
  --seed S              repeats the random choices of an earlier run
  --store sqlite:PATH   the database to use; default a new one in a temporary folder. Half of the kills hit workers
                        alone. The other half hit a cluster of two servers, three workers and clients, which also
                        gets stalls and clock jumps, and whose answers to clients are checked
  --store postgres:     such a cluster on a Postgres that is started for the run and is restarted in it; connections
                        are cut, too
  --store postgres://…  the same on an existing server, which is not restarted
  --pgbouncer           with --store postgres: all processes connect through PgBouncer in transaction mode, with the
                        direct URL for liveness and notifications
  --json                print machine-readable lines
  -h, --help            show this help

The exit code is 0 if nothing was lost, repeated or broken, 1 otherwise, and 2 for invalid usage.`;

const printEveryMs = 2_000;
const maxProblems = 20;
/** Short, so that many stalls longer than the lease fit into a run. */
const leaseMs = 3_000;

/** Invalid usage, described in one sentence. */
class WrongUsage extends Error {}

// Without this, an interrupted run would leave its processes running.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(`chaos: ${(error as Error).message}`);
  process.exitCode = error instanceof WrongUsage ? 2 : 1;
}

async function run(args: string[]): Promise<number> {
  // Not strict: Node's own message for an unknown option is several sentences long.
  const { values, tokens } = parseArgs({ args, options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') throw new WrongUsage(`"${token.value}" is not an option; try --help.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name))
      throw new WrongUsage(`unknown option ${token.rawName}; try --help.`);
  }
  if (values.help) {
    console.log(help);
    return 0;
  }
  const kills = wholeNumber('--kills', values.kills ?? '20', 1);
  const seed = wholeNumber('--seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31)), 0);
  const json = values.json === true;
  const store = values.store === undefined ? undefined : String(values.store);
  const pgbouncer = values.pgbouncer === true;
  if (pgbouncer && !/^postgres(ql)?:$/.test(store ?? ''))
    throw new WrongUsage('--pgbouncer requires --store postgres: without a URL.');
  if (store !== undefined && /^postgres(ql)?:/.test(store))
    return unleashOnPostgres(kills, seed, store, json, pgbouncer);
  return unleashOnSqlite(kills, seed, store === undefined ? undefined : fileOf(store), json);
}

type Print = (line: object, text: string) => void;

function printer(json: boolean): Print {
  return (line, text) => console.log(json ? JSON.stringify(line) : text);
}

async function unleashOnPostgres(
  kills: number,
  seed: number,
  url: string,
  json: boolean,
  pgbouncer: boolean,
): Promise<number> {
  const isOurs = url.endsWith(':');
  if (!isOurs && !/^postgres(ql)?:\/\/./.test(url))
    throw new WrongUsage('--store requires postgres: without a URL, or the URL of a server.');
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cluster-'));
  const print = printer(json);
  print({ seed, kills, folder }, `seed ${seed}: --seed ${seed} repeats the random choices of this run`);
  const { ownPostgres, postgresPlace } = await import('./chaos/cluster/place.ts');
  const place = isOurs ? await ownPostgres({ pgbouncer }) : postgresPlace(url);
  try {
    const report = await unleashOnPlace(place, { kills, seed, folder, errands: 200, print });
    if (json) console.log(JSON.stringify(report));
    else {
      printCluster(report, folder);
      console.log(lastLine(report));
    }
    if (isSound(report)) rmSync(folder, { recursive: true, force: true });
    return isSound(report) ? 0 : 1;
  } finally {
    await place.remove();
  }
}

async function unleashOnPlace(
  place: Place,
  run: {
    readonly kills: number;
    readonly seed: number;
    readonly folder: string;
    readonly errands: number;
    readonly print: Print;
  },
): Promise<ClusterReport> {
  const { kills, seed, folder, errands, print } = run;
  const { unleashOnCluster } = await import('./chaos/cluster/run.ts');
  const some = Math.ceil(kills / 4);
  const { report } = await unleashOnCluster({
    place,
    folder,
    seed,
    errands,
    leaseMs,
    faults: { kills, restarts: Math.ceil(kills / 20), stops: some, blocks: some, jumps: some },
    onProgress: (progress) =>
      print(
        progress,
        `${progress.kills} kills, ${progress.finished} of ${progress.ordered} errands finished`,
      ),
  });
  return report;
}

function printCluster(report: ClusterReport, folder: string): void {
  printProblems(report, `The history is left in ${folder}.`);
  console.log(
    `${report.errands} errands, ${report.steps} steps, ${report.attemptsInVain} wasted attempts; ${report.entries} lines of history; ${report.seconds} s`,
  );
  console.log(
    `${report.restarts} restarts of Postgres, ${report.cuts} connections cut; ${report.superseded} passes were superseded`,
  );
  console.log(
    `${report.stops} workers stopped, ${report.blocks} event loops blocked, ${report.jumps} clock jumps`,
  );
  console.log(
    `${report.takeOvers} take-overs: ${report.medianTakeOverMs} ms after a kill (median), ${report.maxTakeOverMs} ms at worst, ${report.maxTakeOverFromStoppedMs} ms after a stop, ${report.maxDisturbedTakeOverMs} ms with other faults in between`,
  );
}

async function unleashOnSqlite(
  kills: number,
  seed: number,
  file: string | undefined,
  json: boolean,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-chaos-'));
  const database = file ?? join(folder, 'tasks.db');
  const [steps, history] = [join(folder, 'steps'), join(folder, 'history')];
  for (const path of [steps, history]) mkdirSync(path);
  const print = printer(json);
  print({ seed, kills, folder }, `seed ${seed}: --seed ${seed} repeats the random choices of this run`);
  // Imported late, so that invalid usage is reported at once.
  const { unleash } = await import('./chaos/run.ts');
  const { sqlitePlace } = await import('./chaos/cluster/place.ts');
  let isNeeded = true;
  process.once('exit', () => {
    if (!isNeeded) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const ofWorkersAlone = Math.ceil(kills / 2);
  let printedAt = 0;
  const { report } = await unleash({
    file: database,
    folder: steps,
    seed,
    kills: ofWorkersAlone,
    onProgress: (progress) => {
      if (Date.now() - printedAt < printEveryMs && progress.kills < ofWorkersAlone) return;
      printedAt = Date.now();
      print(
        progress,
        `${progress.kills} kills, ${progress.finished} of ${progress.voyages} voyages finished`,
      );
    },
  });
  const cluster = await unleashOnPlace(sqlitePlace(database), {
    kills: kills - ofWorkersAlone,
    seed,
    folder: history,
    errands: 60,
    print,
  });
  const sum = sumOf(report, cluster);
  isNeeded = !isSound(sum);
  if (json) console.log(JSON.stringify({ ...report, cluster, ...sum }));
  else {
    printReport(report, folder);
    printCluster(cluster, history);
    console.log(lastLine(sum));
  }
  return isSound(sum) ? 0 : 1;
}

function printProblems(report: Report | ClusterReport, left: string): void {
  for (const problem of report.problems.slice(0, maxProblems)) console.log(problem);
  if (report.problems.length > maxProblems)
    console.log(`… and ${report.problems.length - maxProblems} more problems.`);
  if (!isSound(report)) console.log(left);
}

function printReport(report: Report, folder: string): void {
  printProblems(report, `The files of the steps are left in ${folder}.`);
  console.log(
    `${report.voyages} voyages, ${report.steps} steps; ${report.stepsRepeatedInFlight} interrupted steps ran again, ` +
      `at worst ${report.maxTakeOverMs} ms after the kill`,
  );
  console.log(
    `${report.restarts} restarts, the next step at worst ${report.maxResumeMs} ms later, ` +
      `${report.maxResumeAfterAllMs} ms when every worker had been killed`,
  );
  console.log(
    `${report.timers} timers, late by ${report.medianTimerMs} ms (median) and ${report.latestTimerMs} ms at worst, ` +
      `${report.latestCalmTimerMs} ms without a kill; ${report.earlyTimers} early`,
  );
  console.log(
    `${report.answers} answers; open questions were checked ${report.questionsOpenAcrossKills} times after a kill; ` +
      `${report.creatorKills} kills of the creator; ${report.deploys} deploys`,
  );
}

function wholeNumber(option: string, text: unknown, min: number): number {
  const number = Number(text);
  if (typeof text !== 'string' || text === '' || !Number.isSafeInteger(number) || number < min)
    throw new WrongUsage(`${option} requires a whole number of at least ${min}.`);
  return number;
}

function fileOf(url: string): string {
  if (url === 'memory:')
    throw new WrongUsage('--store memory: cannot be used, because memory does not survive a killed process.');
  if (!/^sqlite:./.test(url))
    throw new WrongUsage('--store requires sqlite:PATH, postgres: or the URL of a Postgres server.');
  return resolve(url.slice('sqlite:'.length));
}
