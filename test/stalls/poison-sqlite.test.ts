import { poisonTests } from './poison.ts';

poisonTests('SQLite', {
  work: { lease: '1s', grace: '2s' },
  leaseMs: 1_000,
  graceMs: 2_000,
  deathsAllowed: 2,
  timeout: 180_000,
});
