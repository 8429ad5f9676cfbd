import './check-node.ts';

export { type CrashPoint, crashPoints, killAt } from './testing/crash.ts';
export { aTask } from './testing/fixtures.ts';
export { ManualClock } from './testing/manual-clock.ts';
