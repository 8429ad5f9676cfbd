/**
 * `npm run bench -- [suite …] [--quick]`: runs the named suites, or all that need no installation, and prints which
 * targets are met. A quick run only checks that the benchmarks work: it stores no numbers and ignores targets.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { encryption } from './encryption.ts';
import { gateway } from './gateway.ts';
import { handlers } from './handlers.ts';
import { peers } from './peers.ts';
import { plainCalls } from './plain-calls.ts';
import { postgresSuite } from './postgres.ts';
import { holds, printed, type Suite, save } from './report.ts';
import { server } from './server.ts';
import { sqliteStore } from './sqlite-store.ts';
import { workers } from './workers.ts';

const suites: readonly Suite[] = [
  sqliteStore,
  encryption,
  handlers,
  server,
  plainCalls,
  gateway,
  postgresSuite,
  workers,
];
/** Suites that install packages, so they run only if they are named. */
const onRequest: readonly Suite[] = [peers];
const known = [...suites, ...onRequest];

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !known.some((suite) => suite.name === name));
if (unknown.length > 0) {
  console.error(
    `Unknown suite: ${unknown.join(', ')}. Known suites: ${known.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(2);
}

// Without this, an interrupted run would not remove its databases.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const chosen = positionals.length > 0 ? known.filter(({ name }) => positionals.includes(name)) : suites;
for (const suite of chosen) {
  const findings = await suite.run({ quick: values.quick });
  console.log(`${printed(suite.name, findings)}\n`);
  if (values.quick) continue;
  save(join(import.meta.dirname, 'results.json'), suite.name, findings);
  if (!findings.targets.every(holds)) process.exitCode = 1;
}
