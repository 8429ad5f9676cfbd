/** Checks random programs with a weakened engine, and prints the first problems as JSON. */
import type { Pass } from '../../../src/engine/replay/pass.ts';
import { checkLives } from './checks.ts';
import { checkChanges } from './mutations.ts';
import { programs, randomProgram, withDistinctNames } from './program.ts';

const [address, shownBy, seed, count, patienceMs] = process.argv.slice(2);
const { Pass: Weakened } = (await import(address!)) as { Pass: typeof Pass };
// A weakened engine may leave rejections behind that nobody handles: they belong to what is being shown.
process.on('unhandledRejection', () => {});
const [check, make] = shownBy === 'changes' ? [checkChanges, withDistinctNames] : [checkLives, randomProgram];
const checked = { Pass: Weakened, patienceMs: Number(patienceMs) };
const { problems } = await check(checked, programs(Number(seed), Number(count), make), 1);
console.log(JSON.stringify(problems.slice(0, 10)));
process.exit();
