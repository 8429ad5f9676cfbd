import { stallTests } from './stalls.ts';

stallTests('SQLite', {
  work: {},
  leaseMs: 15_000,
  stallsMs: [[12_000, 12_000, 12_000], [30_000], [60_000]],
  jumps: [[1], [-1], [24], [-24]],
  timeout: 300_000,
});
