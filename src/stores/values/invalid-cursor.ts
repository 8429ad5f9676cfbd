import { HoldfastError } from '../../model/errors.ts';

export class InvalidCursor extends HoldfastError {
  constructor() {
    super('This cursor was not made by this list. Start again without a cursor.');
  }
}
