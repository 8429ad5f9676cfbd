/** `npm run sim`: simulates processes, faults and callers on virtual time and checks the results from outside. */
import { parseArgs } from 'node:util';
import { strangeKinds } from '../sim/attacker.ts';
import { callKinds } from '../sim/callers.ts';
import { describe, faultKinds } from '../sim/faults.ts';
import { actKinds } from '../sim/in-process-callers.ts';
import { plainKinds } from '../sim/plain-callers.ts';
import { ProcessPool } from '../sim/process-pool.ts';
import type { Simulated } from '../sim/worker.ts';

const help = `Simulates servers, callers and faults; the same seed always gives the same run.

  npm run sim                     50 seeds, from a random first seed
  npm run sim -- --seeds N        N seeds
  npm run sim -- --minutes M      as many seeds as possible in M minutes
  npm run sim -- --seed S         one seed, with its hash; --trace prints its full trace
  npm run sim -- --from S         starts with seed S
  npm run sim -- --stop           stops at the first seed that fails

The last line is \`sim: N seeds, N commits, N violations\`. It fails if there are violations, or if a kind of
fault or call never occurred.`;

/** After this many seeds, every kind of fault and call must have occurred. */
const enoughForAll = 50;

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) wrong(`--${name} takes a whole number, not "${text}".`);
  return Number(text);
}

function wrong(sentence: string): never {
  console.error(`${sentence}\n\n${help}`);
  process.exit(2);
}

function options() {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: 'string' },
        seed: { type: 'string' },
        from: { type: 'string' },
        minutes: { type: 'string' },
        stop: { type: 'boolean' },
        trace: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values;
  } catch (error) {
    return wrong((error as Error).message);
  }
}

const startedAt = performance.now();
const given = options();
if (given.help) {
  console.log(help);
  process.exit();
}
const one = wholeNumber('seed', given.seed);
const minutes = wholeNumber('minutes', given.minutes);
const from = one ?? wholeNumber('from', given.from) ?? Math.floor(Math.random() * 1e9);
const maxSeeds =
  one === undefined ? (wholeNumber('seeds', given.seeds) ?? (minutes === undefined ? 50 : Infinity)) : 1;

const occurred = new Map<string, number>();
const sizes: { commits: number[]; faults: number[] } = { commits: [], faults: [] };
let commits = 0;
let violations = 0;
let seeds = 0;
let next = from;

const isOver = () =>
  (minutes !== undefined && (performance.now() - startedAt) / 60_000 >= minutes) ||
  (given.stop === true && violations > 0);

const pool = new ProcessPool(given.trace ?? false);
await pool.simulate(() => (next < from + maxSeeds && !isOver() ? next++ : undefined), judge);

const missing =
  seeds < enoughForAll
    ? []
    : [...faultKinds, ...callKinds, ...plainKinds, ...actKinds, ...strangeKinds].filter(
        (kind) => !occurred.has(kind),
      );
for (const kind of missing) console.log(`never occurred: ${kind}`);
console.log([...occurred].map(([what, times]) => `${what} ${times}`).join(', '));
console.log(`in the median seed ${median(sizes.commits)} commits and ${median(sizes.faults)} faults`);
console.log(`sim: ${seeds} seeds, ${commits} commits, ${violations} violations`);
process.exit(violations + missing.length === 0 ? 0 : 1);

function judge({ outcome, smallest }: Simulated): void {
  seeds++;
  commits += outcome.commits;
  violations += outcome.violations.length;
  sizes.commits.push(outcome.commits);
  sizes.faults.push(outcome.faults.length);
  for (const [what, times] of Object.entries(outcome.counts))
    occurred.set(what, (occurred.get(what) ?? 0) + times);
  if (given.trace) console.log(outcome.trace.join('\n'));
  if (smallest) report({ outcome, smallest });
  if (one !== undefined) console.log(`seed ${one}: ${outcome.commits} commits, hash ${outcome.hash}`);
}

function report({ outcome: { seed, violations }, smallest }: Required<Simulated>): void {
  console.log(`seed ${seed} fails; \`npm run sim -- --seed ${seed} --trace\` reproduces it`);
  for (const violation of violations.slice(0, 10)) console.log(`  ${violation}`);
  const { faults, leftOut, trace } = smallest;
  console.log('  with only these faults:');
  for (const [n, fault] of faults.entries()) if (!leftOut.has(n)) console.log(`    ${describe(fault)}`);
  const first = trace.findIndex((line) => line.includes('VIOLATION'));
  console.log('  before it:');
  for (const line of trace.slice(Math.max(0, first - 25), first + 1)) console.log(`    ${line}`);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
