import { HoldfastError } from '../model/errors.ts';

/** What was asked for cannot be: the query says so, not the tasks. */
export class BadQuery extends HoldfastError {}
