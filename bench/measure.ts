/**
 * Fair timings on a noisy machine. The sides of a comparison take turns in small chunks, in rotating order, so that
 * other load affects all of them equally. The input of a chunk is prepared before its time starts.
 */

/** A timed operation. Its result is awaited only if it is a promise, so that a bare loop does not pay for an await. */
export type Operation = () => unknown;

export interface Side {
  prepare(count: number): readonly Operation[] | Promise<readonly Operation[]>;
}

export interface Turns {
  readonly rounds: number;
  /** Operations in one turn of one side. */
  readonly chunk: number;
}

/** Microseconds. */
export interface Timing {
  readonly p50: number;
  readonly p99: number;
  readonly samples: number;
}

/** Times the operations of each side one by one. The first tenth of the rounds is a warm-up. */
export async function interleave<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  { rounds, chunk }: Turns,
): Promise<Record<Name, Timing>> {
  const names = Object.keys(sides) as Name[];
  const samples = new Map(names.map((name) => [name, [] as number[]]));
  const warmUp = Math.ceil(rounds / 10);
  for (let round = 0; round < warmUp + rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length]!;
      const into = round < warmUp ? [] : samples.get(name)!;
      await timeEach(await sides[name].prepare(chunk), into);
    }
  }
  return Object.fromEntries(names.map((name) => [name, timing(samples.get(name)!)])) as Record<Name, Timing>;
}

async function timeEach(operations: readonly Operation[], into: number[]): Promise<void> {
  for (const operation of operations) {
    const started = performance.now();
    const pending = operation();
    if (pending instanceof Promise) await pending;
    into.push((performance.now() - started) * 1_000);
  }
}

export function timing(samples: readonly number[]): Timing {
  const sorted = Float64Array.from(samples).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { p50: at(0.5), p99: at(0.99), samples: sorted.length };
}

export function median(values: readonly number[]): number {
  return timing(values).p50;
}

/** The machine's monotonic clock, which all processes share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Exponentially distributed around 50 ms, as independent arrivals are. */
export function randomGapMs(): number {
  return Math.min(500, -50 * Math.log(1 - Math.random()));
}
