import { poisonTests } from './poison.ts';

poisonTests('SQLite', { work: {}, leaseMs: 15_000, graceMs: 5_000, maxCrashes: 5, timeout: 1_500_000 });
