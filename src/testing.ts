import './check-node.ts';

// For authors of tools.
export { ManualClock } from './testing/manual-clock.ts';
export { type RunToolOptions, runTool, type ToolRun } from './testing/run-tool.ts';
