/** CPU use by process, from `/proc`. Without `/proc` there are no values. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Side } from './measure.ts';

const ticksPerSecond = 100;

/** The parts of a system, each with its current processes. */
export type Parts = Readonly<Record<string, () => readonly number[]>>;

/** Measures the CPU use of each part while the operations of a side run. */
export class CpuMeter {
  readonly #parts: Parts;
  readonly #used = new Map<string, number>();
  #seconds = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  metered({ prepare }: Side): Side {
    return {
      prepare: async (count) =>
        (await prepare(count)).map((operation) => async () => {
          const before = this.#read();
          const started = performance.now();
          await operation();
          this.#seconds += (performance.now() - started) / 1_000;
          for (const [name, seconds] of this.#read())
            this.#used.set(name, (this.#used.get(name) ?? 0) + seconds - before.get(name)!);
        }),
    };
  }

  /** Percent of one CPU. */
  shares(): { readonly part: string; readonly percent: number }[] {
    return [...this.#used].map(([part, used]) => ({ part, percent: (used / this.#seconds) * 100 }));
  }

  #read(): Map<string, number> {
    return new Map(
      Object.entries(this.#parts).map(([name, pids]) => [
        name,
        pids().reduce((sum, pid) => sum + secondsOf(pid), 0),
      ]),
    );
  }
}

export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => Number(statOf(pid)[1]) === parent);
}

function secondsOf(pid: number): number {
  const stat = statOf(pid);
  return (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) / ticksPerSecond;
}

/** The fields after the process name, which may contain any character. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
