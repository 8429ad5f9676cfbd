/** Scales from values to heights, with round numbers at the grid lines. */

export interface Scale {
  /** The values of the grid lines, in ascending order. */
  readonly ticks: readonly number[];
  /** 0 at the bottom, 1 at the top. */
  at(value: number): number;
}

/** From zero to a round number at or above `max`. */
export function countScale(max: number): Scale {
  const rough = Math.max(max, 4) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough)!;
  const top = step * Math.max(2, Math.ceil(Math.max(max, 1) / step));
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return { ticks, at: (value) => value / top };
}

const roundDurations = [
  1,
  10,
  100,
  1_000,
  10_000,
  60_000,
  600_000,
  3_600_000,
  6 * 3_600_000,
  24 * 3_600_000,
  7 * 24 * 3_600_000,
  30 * 24 * 3_600_000,
  365 * 24 * 3_600_000,
];

/** A logarithmic scale, because durations differ by orders of magnitude. */
export function durationScale(min: number, max: number): Scale {
  const low = roundDurations.findLast((value) => value <= min) ?? 1;
  const high = roundDurations.find((value) => value >= max && value > low) ?? max;
  const ticks = roundDurations.filter((value) => value >= low && value <= high);
  const span = Math.log(high / low);
  return { ticks, at: (value) => (span === 0 ? 0 : Math.log(Math.max(value, low) / low) / span) };
}
