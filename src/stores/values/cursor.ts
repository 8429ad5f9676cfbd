import { HoldfastError } from '../../model/errors.ts';

export class InvalidCursor extends HoldfastError {
  constructor() {
    super('INVALID_CURSOR', 'This cursor was not made by this list. Start again without a cursor.');
  }
}

/** The number that a page goes down from. */
export function numberBefore(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (!/^\d{1,16}$/.test(cursor) || !Number.isSafeInteger(Number(cursor))) throw new InvalidCursor();
  return Number(cursor);
}

/** The number that a page goes up from. */
export function numberAfter(cursor = '0'): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new InvalidCursor();
  return Number(cursor);
}
