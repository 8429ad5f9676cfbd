import { HoldfastError } from './errors.ts';

/** A length of time as people write it (`'30s'`, `'24h'`), or a number of milliseconds. */
export type Duration = number | `${number}${keyof typeof unitMs}`;

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export class InvalidDuration extends HoldfastError {
  constructor(given: unknown) {
    super(
      `${JSON.stringify(given) ?? String(given)} is not a duration: give milliseconds as a whole number, or a number with a unit, such as '500ms', '30s', '5m', '24h' or '7d'.`,
    );
  }
}

export function toMs(duration: Duration): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration));
  const ms =
    typeof duration === 'number'
      ? duration
      : match
        ? Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]
        : NaN;
  if (!Number.isSafeInteger(ms) || ms < 0) throw new InvalidDuration(duration);
  return ms;
}
