import { HoldfastError } from '../../../model/errors.ts';

export class InvalidCursor extends HoldfastError {
  constructor() {
    super('INVALID_CURSOR', 'This cursor was not made by this list. Start again without a cursor.');
  }
}

/** The number at which a page begins. */
export function numberIn(cursor: string): number {
  const number = Number(cursor);
  if (!/^\d{1,16}$/.test(cursor) || !Number.isSafeInteger(number)) throw new InvalidCursor();
  return number;
}

/** The number that a page goes down from. */
export function numberBefore(cursor = String(Number.MAX_SAFE_INTEGER)): number {
  return numberIn(cursor);
}
