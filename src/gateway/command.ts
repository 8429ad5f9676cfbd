import type { DurableTool } from '../engine/tool.ts';
import type { CommandConfig } from './config.ts';
export function commandTool(_name: string, _config: CommandConfig): DurableTool {
  throw new Error('not yet');
}
