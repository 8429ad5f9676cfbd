/** Checks random programs with a weakened engine, and prints the first problems as JSON. */
import type { Pass } from '../../src/engine/pass.ts';
import { checkMany } from './checks.ts';
import { checkChanges } from './mutations.ts';
import { randomPrograms } from './program.ts';

const [address, shownBy, seed, count, patienceMs] = process.argv.slice(2);
const { Pass: Weakened } = (await import(address!)) as { Pass: typeof Pass };
// A weakened engine may leave rejections behind that nobody handles: they belong to what is being shown.
process.on('unhandledRejection', () => {});
const names = shownBy === 'changes' ? 'distinct' : 'equal';
const check = shownBy === 'changes' ? checkChanges : checkMany;
const { problems } = await check(
  { Pass: Weakened, patienceMs: Number(patienceMs) },
  { programs: randomPrograms(Number(seed), Number(count), names), atOnce: 50, enough: 1 },
);
console.log(JSON.stringify(problems.slice(0, 10)));
process.exit();
