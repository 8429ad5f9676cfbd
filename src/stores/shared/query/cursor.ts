import { HoldfastError } from '../../../model/errors.ts';

export class InvalidCursor extends HoldfastError {
  constructor() {
    super('INVALID_CURSOR', 'This cursor does not belong to this list. Start again without a cursor.');
  }
}

/** Parses a cursor, which is a row number. Throws `InvalidCursor`. */
export function numberIn(cursor: string): number {
  const number = Number(cursor);
  if (!/^\d{1,16}$/.test(cursor) || !Number.isSafeInteger(number)) throw new InvalidCursor();
  return number;
}

/**
 * The same for pages in descending order: all rows of the page are below this number. No cursor means the first page.
 */
export function numberBefore(cursor = String(Number.MAX_SAFE_INTEGER)): number {
  return numberIn(cursor);
}
