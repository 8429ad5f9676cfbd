import { HoldfastError } from './errors.ts';
import { shown } from './thrown.ts';

/** An amount of data as people write it (`'500 MB'`, `'2 GB'`, powers of a thousand), or a number of bytes. */
export type Size = number | `${number}${' ' | ''}${keyof typeof unitBytes}`;

const unitBytes = { KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 } as const;

export class InvalidSize extends HoldfastError {
  constructor(given: unknown) {
    super(
      `${shown(given)} is not a size: give bytes as a whole number, or a number with a unit, such as '500 MB' or '2 GB'.`,
    );
  }
}

export function toBytes(size: Size): number {
  const match = typeof size === 'string' ? /^(\d+(?:\.\d+)?) ?(KB|MB|GB|TB)$/.exec(size) : undefined;
  const bytes =
    typeof size === 'number'
      ? size
      : match
        ? Math.round(Number(match[1]) * unitBytes[match[2] as keyof typeof unitBytes])
        : NaN;
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new InvalidSize(size);
  return bytes;
}
