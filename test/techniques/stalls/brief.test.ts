import { stallTests } from './stalls.ts';

stallTests('SQLite', {
  work: { lease: '1s' },
  leaseMs: 1_000,
  stallsMs: [[1_500, 3_200]],
  jumps: [[1, -24]],
  timeout: 300_000,
  isBrief: true,
});
