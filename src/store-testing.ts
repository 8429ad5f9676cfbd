import './check-node.ts';

// For authors of stores: suites that examine every port, and what other tests of a store need.
export { aTask, type CrashPoint, crashPoints, killAt } from './testing/fixtures.ts';
export { applied, brokenByChange, brokenInvariants, type Tasks } from './testing/invariants.ts';
export type { Place, SuiteOptions, TestFunction } from './testing/suite.ts';
export { type HandlesPlace, type HandlesSuiteOptions, testHandles } from './testing/test-handles.ts';
export { testAudit, testCalls, testSecrets, testSessions } from './testing/test-ports.ts';
export { testQueue } from './testing/test-queue.ts';
export { testStore } from './testing/test-store.ts';
export { testSurvey } from './testing/test-survey.ts';
