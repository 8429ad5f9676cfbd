import { poisonTests } from './poison.ts';

poisonTests('Postgres', { work: {}, leaseMs: 10_000, graceMs: 5_000, maxCrashes: 5, timeout: 1_500_000 });
