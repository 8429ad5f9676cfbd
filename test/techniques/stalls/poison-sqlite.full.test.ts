import { poisonTests } from './poison.ts';

poisonTests('SQLite', {
  work: { lease: '2s', grace: '2s' },
  leaseMs: 2_000,
  graceMs: 2_000,
  maxCrashes: 2,
  timeout: 900_000,
});
