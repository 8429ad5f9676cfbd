/** `npm run chaos`: kills and stalls processes and moves clocks at random while work runs, and tells what was lost. */
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

  --kills N             how many processes to kill; 20 unless told
  --seed S              repeats the random choices of an earlier run
  --store sqlite:PATH   the database to work on; a new one in a temporary folder unless told. Half of the kills meet
                        workers alone; the other half a cluster of two servers, three workers and clients, whose
                        workers are stalled and whose clocks are moved too, and what clients saw is judged
  --store postgres:     such a cluster on a Postgres that is started for the run: its connections are cut and it is
                        restarted too
  --store postgres://…  the same on a server that is there already, and is not restarted
  --pgbouncer           with --store postgres: all processes go through PgBouncer in transaction mode, and have the
                        direct URL for liveness and notifications
  --json                prints machine-readable lines
  -h, --help            say this

The exit code is 0 if nothing was lost, repeated or broken, 1 otherwise, and 2 for wrong usage.`;

const tellEveryMs = 2_000;
const mostProblems = 20;
/** Short, so that many stalls around and beyond it fit into a run. */
const leaseMs = 3_000;

/** Wrong usage, said in one sentence. */
class WrongUsage extends Error {}

// Without this an interrupted run would leave its processes at work.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(`chaos: ${(error as Error).message}`);
  process.exitCode = error instanceof WrongUsage ? 2 : 1;
}

async function run(args: string[]): Promise<number> {
  // Not strict: Node's own words for unknown options are several sentences.
  const { values, tokens } = parseArgs({ args, options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') throw new WrongUsage(`"${token.value}" is not an option; try --help.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name))
      throw new WrongUsage(`there is no option ${token.rawName}; try --help.`);
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
    throw new WrongUsage('--pgbouncer wants --store postgres: alone.');
  if (store !== undefined && /^postgres(ql)?:/.test(store))
    return unleashOnPostgres(kills, seed, store, json, pgbouncer);
  return unleashAndTell(kills, seed, store === undefined ? undefined : fileOf(store), json);
}

type Say = (line: object, text: string) => void;

function sayer(json: boolean): Say {
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
    throw new WrongUsage('--store wants postgres: alone, or a URL of a server.');
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cluster-'));
  const say = sayer(json);
  say({ seed, kills, folder }, `seed ${seed}: --seed ${seed} repeats the random choices of this run`);
  const { ownPostgres, postgresPlace } = await import('./chaos/cluster/place.ts');
  const place = isOurs ? await ownPostgres({ pgbouncer }) : postgresPlace(url);
  try {
    const report = await unleashOnPlace(place, { kills, seed, folder, errands: 200, say });
    if (json) console.log(JSON.stringify(report));
    else {
      tellCluster(report, folder);
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
    readonly say: Say;
  },
): Promise<ClusterReport> {
  const { kills, seed, folder, errands, say } = run;
  const { unleashOnCluster } = await import('./chaos/cluster/run.ts');
  const some = Math.ceil(kills / 4);
  const { report } = await unleashOnCluster({
    place,
    folder,
    seed,
    errands,
    leaseMs,
    faults: { kills, restarts: Math.ceil(kills / 20), stops: some, blocks: some, jumps: some },
    tell: (progress) =>
      say(progress, `${progress.kills} kills, ${progress.finished} of ${progress.ordered} errands finished`),
  });
  return report;
}

function tellCluster(report: ClusterReport, folder: string): void {
  tellProblems(report, `The history is left in ${folder}.`);
  console.log(
    `${report.errands} errands, ${report.steps} steps, ${report.attemptsInVain} attempts in vain; ${report.entries} lines of history; ${report.seconds} s`,
  );
  console.log(
    `${report.restarts} restarts of Postgres, ${report.cuts} connections cut; ${report.superseded} passes found another in their place`,
  );
  console.log(
    `${report.stops} workers stopped, ${report.blocks} event loops blocked, ${report.jumps} clock jumps`,
  );
  console.log(
    `${report.takeOvers} take-overs: ${report.medianTakeOverMs} ms after a kill in the median, ${report.longestTakeOverMs} ms at worst, ${report.longestTakeOverFromStoppedMs} ms after a stop, ${report.longestDisturbedTakeOverMs} ms with whatever else came in between`,
  );
}

async function unleashAndTell(
  kills: number,
  seed: number,
  file: string | undefined,
  json: boolean,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-chaos-'));
  const database = file ?? join(folder, 'tasks.db');
  const [steps, history] = [join(folder, 'steps'), join(folder, 'history')];
  for (const path of [steps, history]) mkdirSync(path);
  const say = sayer(json);
  say({ seed, kills, folder }, `seed ${seed}: --seed ${seed} repeats the random choices of this run`);
  // Only now: wrong usage is told at once.
  const { unleash } = await import('./chaos/run.ts');
  const { sqlitePlace } = await import('./chaos/cluster/place.ts');
  let isNeeded = true;
  process.once('exit', () => {
    if (!isNeeded) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const ofWorkersAlone = Math.ceil(kills / 2);
  let toldAt = 0;
  const { report } = await unleash({
    file: database,
    folder: steps,
    seed,
    kills: ofWorkersAlone,
    tell: (progress) => {
      if (Date.now() - toldAt < tellEveryMs && progress.kills < ofWorkersAlone) return;
      toldAt = Date.now();
      say(progress, `${progress.kills} kills, ${progress.finished} of ${progress.voyages} voyages finished`);
    },
  });
  const cluster = await unleashOnPlace(sqlitePlace(database), {
    kills: kills - ofWorkersAlone,
    seed,
    folder: history,
    errands: 60,
    say,
  });
  const sum = sumOf(report, cluster);
  isNeeded = !isSound(sum);
  if (json) console.log(JSON.stringify({ ...report, cluster, ...sum }));
  else {
    tellAll(report, folder);
    tellCluster(cluster, history);
    console.log(lastLine(sum));
  }
  return isSound(sum) ? 0 : 1;
}

function tellProblems(report: Report | ClusterReport, left: string): void {
  for (const problem of report.problems.slice(0, mostProblems)) console.log(problem);
  if (report.problems.length > mostProblems)
    console.log(`… and ${report.problems.length - mostProblems} more problems.`);
  if (!isSound(report)) console.log(left);
}

function tellAll(report: Report, folder: string): void {
  tellProblems(report, `What the steps wrote is left in ${folder}.`);
  console.log(
    `${report.voyages} voyages, ${report.steps} steps; ${report.stepsRepeatedInFlight} steps in flight were run again, ` +
      `at worst ${report.longestTakeOverMs} ms after the kill`,
  );
  console.log(
    `${report.restarts} restarts, the next step at worst ${report.longestResumeMs} ms later, ` +
      `${report.longestResumeAfterAllMs} ms when every worker had been killed`,
  );
  console.log(
    `${report.timers} timers, late by ${report.medianTimerMs} ms in the median and ${report.latestTimerMs} ms at worst, ` +
      `${report.latestCalmTimerMs} ms where nothing was killed; ${report.earlyTimers} early`,
  );
  console.log(
    `${report.answers} answers; open questions were looked at ${report.questionsOpenAcrossKills} times after a kill; ` +
      `${report.creatorKills} kills of the creator; ${report.deploys} deploys`,
  );
}

function wholeNumber(option: string, text: unknown, least: number): number {
  const number = Number(text);
  if (typeof text !== 'string' || text === '' || !Number.isSafeInteger(number) || number < least)
    throw new WrongUsage(`${option} wants a whole number of at least ${least}.`);
  return number;
}

function fileOf(url: string): string {
  if (url === 'memory:')
    throw new WrongUsage('--store memory: makes no sense here, because memory goes with the killed process.');
  if (!/^sqlite:./.test(url))
    throw new WrongUsage('--store wants sqlite:PATH, postgres: or a URL of Postgres.');
  return resolve(url.slice('sqlite:'.length));
}
