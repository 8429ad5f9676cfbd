import './check-node.ts';

export { type CrashPoint, crashPoints, killAt } from './testing/crash.ts';
export { aTask } from './testing/fixtures.ts';
export { applied, brokenByChange, brokenInvariants, type Tasks } from './testing/invariants.ts';
export { ManualClock } from './testing/manual-clock.ts';
export {
  NothingLeftToWaitFor,
  type RunToolOptions,
  runTool,
  type ToolRun,
  UnansweredQuestion,
} from './testing/run-tool.ts';
export type { Place, SuiteOptions, TestFunction } from './testing/suite.ts';
export { testAudit } from './testing/test-audit.ts';
export { testCalls } from './testing/test-calls.ts';
export { type HandlesPlace, type HandlesSuiteOptions, testHandles } from './testing/test-handles.ts';
export { testQueue } from './testing/test-queue.ts';
export { testSecrets } from './testing/test-secrets.ts';
export { testSessions } from './testing/test-sessions.ts';
export { testStore } from './testing/test-store.ts';
export { testSurvey } from './testing/test-survey.ts';
