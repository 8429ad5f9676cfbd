import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type DurableTool, durableTool } from '../../../src/index.ts';
import { releaseFile, writeLine } from './step-lines.ts';

export interface ToolSettings {
  readonly folder: string;
  readonly maxCrashes?: number;
}

/** Tools with one step each. Neither deadline nor retention passes when a clock is set forward by a day. */
export function stallTools({ folder, maxCrashes }: ToolSettings) {
  const options = {
    deadline: 'none',
    retention: '30d',
    ...(maxCrashes !== undefined && { maxCrashes }),
  } as const;
  const tool = (name: string, work: () => Promise<void> | void) =>
    durableTool(name, options, (_, task) =>
      task.step('work', async () => {
        const { id, pass } = task;
        writeLine(folder, { what: 'began', task: id, pass });
        await work();
        writeLine(folder, { what: 'ended', task: id, pass });
        return { pid: process.pid, pass };
      }),
    ) as unknown as DurableTool;
  return {
    hold: tool('hold', async () => {
      while (!existsSync(releaseFile(folder))) await pause(50);
    }),
    quick: tool('quick', () => {}),
    steady: tool('steady', () => pause(2_000)),
    /** Takes its process with it. */
    deadly: tool('deadly', async () => {
      await pause(100);
      process.kill(process.pid, 'SIGKILL');
      await pause(60_000);
    }),
    /** Never gives the event loop back. */
    blocking: tool('blocking', async () => {
      await pause(100);
      for (;;);
    }),
  };
}
