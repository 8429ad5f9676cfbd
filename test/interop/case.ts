/** What the suite consists of: a real client does something with the fixture server, and sees what it should. */
import { setTimeout as pause } from 'node:timers/promises';
import type { World } from './world.ts';

const timeoutMs = 20_000;

export interface InteropCase {
  readonly title: string;
  run(world: World): Promise<void>;
}

/** Rejects when the case fails, or is not over in time. */
export function runCase({ run }: InteropCase, world: World): Promise<void> {
  return world.inTurn(async () => {
    const over = new AbortController();
    const late = async () => {
      await pause(timeoutMs, undefined, over);
      throw new Error(`It was not over after ${timeoutMs / 1_000} s.`);
    };
    await Promise.race([run(world), late()]).finally(() => over.abort());
  });
}
