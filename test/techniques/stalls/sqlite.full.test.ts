import { stallTests } from './stalls.ts';

stallTests('SQLite', {
  work: { lease: '1s' },
  leaseMs: 1_000,
  stallsMs: [[1_500, 1_700, 1_600, 2_000, 3_000]],
  jumps: [[1, -1, 24, -24]],
  timeout: 600_000,
});
