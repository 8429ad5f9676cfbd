/** What can be wrong with the place where tasks are kept. Every message names the place and the remedy. */
import { HoldfastError } from '../model/errors.ts';

export class StoreError extends HoldfastError {
  constructor(place: string, problem: string, remedy: string, cause?: unknown) {
    super(`${place}: ${problem}. ${remedy}`, cause === undefined ? undefined : { cause });
  }
}

export class StoreFull extends StoreError {}
export class StoreReadOnly extends StoreError {}
export class StoreCorrupt extends StoreError {}
export class StoreBusy extends StoreError {}
export class StoreTooNew extends StoreError {}
export class StoreNotOpened extends StoreError {}
/** It is encrypted, and a key is missing, wrong, or not a key at all. */
export class StoreNotUnlocked extends StoreError {}
export class StoreClosed extends StoreError {
  constructor(place: string) {
    super(place, 'the store is closed', 'Open it again before using it.');
  }
}
