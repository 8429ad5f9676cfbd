import './stage.ts';
import { simulate } from './run.ts';

const real = process.hrtime;
const from = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 1);
let bad = 0;
for (let seed = from; seed < from + count; seed++) {
  const t = real.bigint();
  const { commits, hash, violations, trace, virtualMs, turns, counts, faults } = await simulate(seed);
  const ms = Number(real.bigint() - t) / 1e6;
  console.log(
    `seed ${seed}: ${commits} commits, hash ${hash}, ${faults.length} faults, ${turns} turns, ${Math.round(virtualMs / 1000)} s in ${Math.round(ms)} ms, ${violations.length} violations`,
  );
  if (violations.length > 0) {
    bad++;
    for (const one of violations.slice(0, 6)) console.log('   ', one.slice(0, 600));
  }
  if (process.env.TRACE) console.log(trace.join('\n'));
  if (count === 1) console.log(counts);
}
console.log(bad, 'bad');
process.exit();
