import './check-node.ts';

// For authors of stores: a test suite for each port, and helpers for further tests.
export { aTask, type CrashPoint, crashPoints, killAt } from './testing/fixtures.ts';
export { applied, brokenByChange, brokenInvariants, type Tasks } from './testing/invariants.ts';
export type { Place, SuiteOptions, TestFunction } from './testing/stores/suite.ts';
export {
  type CallRegistryPlace,
  type CallRegistrySuiteOptions,
  testCallRegistry,
} from './testing/stores/test-call-registry.ts';
export { testAudit, testCalls, testSecrets, testSessions } from './testing/stores/test-ports.ts';
export { testQueries } from './testing/stores/test-query.ts';
export { testQueue } from './testing/stores/test-queue.ts';
export { testStore } from './testing/stores/test-store.ts';
