/** What a viewer may ask for: cursors of lists, and the refusal of queries that make no sense. */

import { Sealer } from '../access/seal.ts';
import type { Secrets } from '../engine/queue.ts';
import type { Clock } from '../model/clock.ts';
import { HoldfastError } from '../model/errors.ts';
import type { Viewer } from './api.ts';

/** What was asked for cannot be: the query says so, not the tasks. */
export class BadQuery extends HoldfastError {}

const lifeMs = 24 * 3_600_000;

/**
 * Cursors of a store count all tasks there are, so a viewer who may see only some is given them sealed, for itself
 * alone.
 */
export class Cursors {
  readonly #viewer: Viewer;
  readonly #secrets: Secrets;
  readonly #clock: Clock;

  constructor(viewer: Viewer, secrets: Secrets, clock: Clock) {
    this.#viewer = viewer;
    this.#secrets = secrets;
    this.#clock = clock;
  }

  async seal(cursor: string): Promise<string> {
    const sealer = await this.#sealer();
    return sealer ? sealer.seal(cursor, this.#clock.now() + lifeMs) : cursor;
  }

  async open(cursor: string): Promise<string> {
    const sealer = await this.#sealer();
    if (!sealer) return cursor;
    const opened = sealer.open(cursor, this.#clock.now());
    if ('value' in opened) return opened.value as string;
    throw new BadQuery(
      opened.problem === 'expired'
        ? 'This cursor has expired. Start again without one.'
        : 'This cursor was not made for this caller. Start again without one.',
    );
  }

  async #sealer(): Promise<Sealer | undefined> {
    const { owner } = this.#viewer;
    if (owner === undefined) return undefined;
    return new Sealer(await this.#secrets.get('cursors'), `desk cursors of ${owner}`);
  }
}
