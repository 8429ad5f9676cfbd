/** From values to pixels, with round numbers at the lines. */

export interface Scale {
  /** The values at which there are lines, the smallest first. */
  readonly ticks: readonly number[];
  /** 0 at the bottom, 1 at the top. */
  at(value: number): number;
}

/** From zero to a round number at or above the largest. */
export function countScale(largest: number): Scale {
  const rough = Math.max(largest, 4) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough)!;
  const top = step * Math.max(2, Math.ceil(Math.max(largest, 1) / step));
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

/** Durations differ by orders of magnitude: equal distances are equal factors. */
export function durationScale(smallest: number, largest: number): Scale {
  const low = roundDurations.findLast((value) => value <= smallest) ?? 1;
  const high = roundDurations.find((value) => value >= largest && value > low) ?? largest;
  const ticks = roundDurations.filter((value) => value >= low && value <= high);
  const span = Math.log(high / low);
  return { ticks, at: (value) => (span === 0 ? 0 : Math.log(Math.max(value, low) / low) / span) };
}
