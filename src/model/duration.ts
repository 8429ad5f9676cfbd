/** Durations and sizes as people write them. */
import { InvalidOptions } from './errors.ts';
import { shown } from './thrown.ts';

/** A duration with a unit (`'30s'`, `'24h'`), or a number of milliseconds. */
export type Duration = number | `${number}${keyof typeof unitMs}`;

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function invalidDuration(given: unknown, where?: string): InvalidOptions {
  return new InvalidOptions(
    'INVALID_DURATION',
    `${where === undefined ? '' : `${where}: `}${shown(given)} is not a duration: give milliseconds as a whole number, or a number with a unit, such as '500ms', '30s', '5m', '24h' or '7d'.`,
  );
}

/** Converts a duration to milliseconds, or throws. `where` names the call or option in the error message. */
export function toMs(duration: Duration, where?: string): number {
  const ms = amountOf(duration, /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/, unitMs);
  if (!Number.isSafeInteger(ms) || ms < 0) throw invalidDuration(duration, where);
  return ms;
}

/** A size with a unit (`'500 MB'`, `'2 GB'`; powers of 1,000), or a number of bytes. */
export type Size = number | `${number}${' ' | ''}${keyof typeof unitBytes}`;

const unitBytes = { KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 } as const;

function invalidSize(given: unknown): InvalidOptions {
  return new InvalidOptions(
    'INVALID_SIZE',
    `${shown(given)} is not a size: give bytes as a whole number, or a number with a unit, such as '500 MB' or '2 GB'.`,
  );
}

/** Converts a size to a whole number of bytes, or throws. */
export function toBytes(size: Size): number {
  const amount = amountOf(size, /^(\d+(?:\.\d+)?) ?(KB|MB|GB|TB)$/, unitBytes);
  const bytes = typeof size === 'number' ? amount : Math.round(amount);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw invalidSize(size);
  return bytes;
}

/** The amount in the base unit. NaN if `given` is neither a number nor a number with one of the units. */
function amountOf(given: unknown, form: RegExp, units: Readonly<Record<string, number>>): number {
  if (typeof given === 'number') return given;
  const [, amount, unit] = (typeof given === 'string' && form.exec(given)) || [];
  return unit === undefined ? Number.NaN : Number(amount) * units[unit]!;
}
