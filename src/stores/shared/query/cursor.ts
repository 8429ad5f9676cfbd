import { HoldfastError } from '../../../model/errors.ts';

export class InvalidCursor extends HoldfastError {
  constructor() {
    super('INVALID_CURSOR', 'This cursor does not belong to this list. Start again without a cursor.');
  }
}

/** The row number at which a page begins. */
export function numberIn(cursor: string): number {
  const number = Number(cursor);
  if (!/^\d{1,16}$/.test(cursor) || !Number.isSafeInteger(number)) throw new InvalidCursor();
  return number;
}

/** The row number below which a page begins; pages are in descending order. */
export function numberBefore(cursor = String(Number.MAX_SAFE_INTEGER)): number {
  return numberIn(cursor);
}
