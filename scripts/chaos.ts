/** `npm run chaos`: kills processes at random while work runs, and tells what was lost. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isSound, lastLine, type Report } from './chaos/report.ts';

const options = {
  kills: { type: 'string' },
  seed: { type: 'string' },
  store: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const help = `Kills worker processes at random while tasks run, then checks what their steps wrote.

Usage: npm run chaos -- [--kills N] [--seed S] [--store sqlite:PATH] [--json]

  --kills N             how many workers to kill; 20 unless told
  --seed S              repeats the random choices of an earlier run
  --store sqlite:PATH   the database to work on; a new one in a temporary folder unless told
  --json                prints machine-readable lines
  -h, --help            say this

The exit code is 0 if nothing was lost, repeated or broken, 1 otherwise, and 2 for wrong usage.`;

const tellEveryMs = 2_000;
const mostProblems = 20;

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
  const file = values.store === undefined ? undefined : fileOf(values.store);
  return unleashAndTell(kills, seed, file, values.json === true);
}

async function unleashAndTell(
  kills: number,
  seed: number,
  file: string | undefined,
  json: boolean,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-chaos-'));
  const steps = join(folder, 'steps');
  mkdirSync(steps);
  const say = (line: object, text: string) => console.log(json ? JSON.stringify(line) : text);
  say({ seed, kills, folder }, `seed ${seed}: --seed ${seed} repeats the random choices of this run`);
  // Only now: wrong usage is told at once.
  const { unleash } = await import('./chaos/run.ts');
  let isNeeded = false;
  process.once('exit', () => {
    if (!isNeeded) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  let toldAt = 0;
  const { report } = await unleash({
    file: file ?? join(folder, 'tasks.db'),
    folder: steps,
    seed,
    kills,
    tell: (progress) => {
      if (Date.now() - toldAt < tellEveryMs && progress.kills < kills) return;
      toldAt = Date.now();
      say(progress, `${progress.kills} kills, ${progress.finished} of ${progress.voyages} voyages finished`);
    },
  });
  isNeeded = !isSound(report);
  if (json) console.log(JSON.stringify(report));
  else tellAll(report, folder);
  return isSound(report) ? 0 : 1;
}

function tellAll(report: Report, folder: string): void {
  for (const problem of report.problems.slice(0, mostProblems)) console.log(problem);
  if (report.problems.length > mostProblems)
    console.log(`… and ${report.problems.length - mostProblems} more problems.`);
  if (!isSound(report)) console.log(`What the steps wrote is left in ${folder}.`);
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
  console.log(lastLine(report));
}

function wholeNumber(option: string, text: unknown, least: number): number {
  const number = Number(text);
  if (typeof text !== 'string' || text === '' || !Number.isSafeInteger(number) || number < least)
    throw new WrongUsage(`${option} wants a whole number of at least ${least}.`);
  return number;
}

function fileOf(store: unknown): string {
  const url = String(store);
  if (url === 'memory:')
    throw new WrongUsage('--store memory: makes no sense here, because memory goes with the killed process.');
  if (/^postgres(ql)?:/.test(url))
    throw new WrongUsage('--store postgres: is not there yet; use sqlite:PATH.');
  if (!/^sqlite:./.test(url)) throw new WrongUsage('--store wants sqlite:PATH.');
  return resolve(url.slice('sqlite:'.length));
}
